# cluster.bash -- what the tests on a Slurm of this machine share. Source tests/acceptance/common.bash first.
PATH=$PATH:/usr/sbin:/sbin
for program in slurmctld slurmd munged sbatch; do
  command -v $program >/dev/null || { echo "skipped: $program is missing; ./bootstrap test installs it"; exit 77; }
done
has_processes || { echo "skipped: this build has no ranks as processes"; exit 77; }
testcluster=$source_folder/slurm/testcluster
export ASAN_OPTIONS=detect_leaks=0 # PMIx and Open MPI leave memory to the end of the process
trap '"$testcluster" down "$folder/slurm"; rm -rf "$folder"' EXIT

# Compiles and submits job NAME as a user would by hand; its number is $job.
start() { # NAME OVERRIDES...
  local name=$1 words=(-D "job.name=$1") word
  for word in "${@:2}"; do words+=(-D "$word"); done
  mkdir -p "runs/$name/slurm"
  "$build/lockstep" compile job.lua "${words[@]}" -o "runs/$name/$name.plan" >/dev/null || fail "$name: compile"
  "$build/lockstep" sbatch job.lua "${words[@]}" >"$name.sh" || fail "$name: sbatch"
  job=$(timeout 300 sbatch --parsable "$name.sh") || fail "$name: not submitted"
}

state() { timeout 300 scontrol -o show job "$job" | sed -n 's/.*JobState=\([A-Z_]*\).*/\1/p'; }

# wait_for WHAT COMMAND...: ten minutes at most, which only a job that never comes to it needs.
wait_for() {
  local what=$1 i
  shift
  for ((i = 0; i < 3000; i++)); do
    "$@" && return
    sleep 0.2
  done
  fail "waited $((i / 5)) s for: $what"
  tail -n 20 "runs/$name"/slurm/*.log "runs/$name/slurm/events.jsonl"
  return 1
}
is_over() { case $(state) in COMPLETED | FAILED | CANCELLED | TIMEOUT | NODE_FAIL) ;; *) false ;; esac }
ends_as() { # STATE
  wait_for "the end of $name" is_over || return
  [ "$(state)" = "$1" ] || { fail "$name ended as $(state), not $1"; cat "runs/$name"/slurm/*.log; }
}
events() { grep -c "\"event\":\"$1\"" "runs/$name/slurm/events.jsonl" 2>/dev/null; }
has_steps() { [ "$(losses "runs/$name/metrics.jsonl" 2>/dev/null | wc -l)" -ge "$1" ]; }
has_event() { grep -q "\"event\":\"$1\"" "runs/$name/slurm/events.jsonl" 2>/dev/null; }

# The ranks of the job on this machine; another test may have jobs of the same name.
rank_pids() {
  local pid
  for pid in $(pgrep -x lockstep-rank); do
    [ "$(readlink "/proc/$pid/cwd")" = "$PWD" ] || continue
    tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null | grep -qF " runs/$name/$name.plan" && echo "$pid"
  done
}

# The steps of two metrics.jsonl, as far as both go, have equal losses and norms; and there are some.
same_losses() { # FILE FILE LEAST
  local steps
  steps=$(join <(losses "$1" | sort) <(losses "$2" | sort) | tee joined | wc -l)
  [ "$steps" -ge "$3" ] || fail "$name: only $steps steps to compare"
  awk '$2 != $4 || $3 != $5 { print "another loss: " $0; bad = 1 } END { exit bad }' joined || fail "$name: losses differ"
}
undisturbed() { # OVERRIDES...: the same job as threads of one process, without Slurm
  "$build/lockstep" run job.lua -D job.name=undisturbed "$@" --no-plot >out 2>&1 || { fail undisturbed; cat out; }
}

# Ranks of an overloaded machine may have ended each other for their silence: then the next start is struck.
strike() { # SIGNAL
  local pids i
  for ((i = 0; i < 1500; i++)); do
    mapfile -t pids < <(rank_pids)
    tries=$(events try)
    struck=$EPOCHREALTIME
    [ ${#pids[@]} -gt 0 ] && kill -s "$1" "${pids[-1]}" 2>/dev/null && return
    sleep 0.2
  done
  fail "$name: no rank to strike after $((i / 5)) s"
}
has_next_try() { [ "$(events try)" -gt "$tries" ]; }
has_two_starts() { [ "$(events start)" -ge 2 ]; }

# The newest step that two nodes of a job have whole in memories that libapart_nodes.so keeps apart in this folder.
common_copy() { # FOLDER
  (cd "$1" && printf '%s\n' */lockstep-*/step_*/manifest.json) | sed -n 's,.*/step_0*\([0-9]*\)/manifest.json$,\1,p' | sort -n | uniq -d | tail -n 1
}
