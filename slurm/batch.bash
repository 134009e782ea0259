# batch.bash -- the fixed half of a batch script; lockstep sbatch prints it after the variables that it sets. All ranks run
# in one job step; when it ends, its exit code decides what comes next:
#   0          done
#   4          nothing was left to do
#   1, 3       the job or lockstep must change: never tried again
#   5          stopped as asked: at the limit the next job of the chain goes on, or this one from the queue
#   any other  a machine failed: tried again here, without its node where there are spares, or from the queue
# shellcheck shell=bash disable=SC2034,SC2154

set -eEuo pipefail
at_limit=0 told_to_end=0
trap at_limit=1 USR1 # from the first line on, because an early signal would end the script without a word
trap told_to_end=1 TERM
export LC_ALL=C # bash and awk write and read numbers with the locale's decimal comma
folder=$PWD
inherited=" $(compgen -A function | paste -sd' ' || true) " # module, where a site exports it
ulimit -S -c 0
umask "${SLURM_UMASK:-$(umask)}" # which srun hands on to ranks; it is the shell's that submitted, or slurm.umask
job=$SLURM_JOB_ID restart=${SLURM_RESTART_COUNT:-0} try=0
logs=$run/slurm/$job.$restart
pattern=${logs//%/%%} # in which srun fills in the rank
told=none step_pid='' avoid='' code=0 ended=0 leaving=0 doing='' failed=''
mkdir -p "$logs" || { echo "lockstep: the run folder is looked for from $PWD: submit from the folder of the job" >&2; exit 1; }
if [ -e "$run/slurm/unnumbered" ]; then # submit has not read this job's number from sbatch
  grep -qx "$job" "$run/slurm/job" 2>/dev/null || echo "$job" >>"$run/slurm/job"
  rm -f "$run/slurm/unnumbered"
fi

say() { printf '%(%F %T)T %s\n' -1 "$*"; }

# A line of events.jsonl, which lockstep status reads: NAME [KEY TEXT]...
event() {
  local line text
  printf -v line '{"time":%.3f,"job":%s,"restart":%s,"event":"%s"' "$EPOCHREALTIME" "$job" "$restart" "$1"
  shift
  while [ $# -gt 0 ]; do
    text=${2//[[:cntrl:]]/ }
    line+=",\"$1\":\"${text//[\"\\]/}\""
    shift 2
  done
  printf '%s}\n' "$line" >>"$run/slurm/events.jsonl"
}

# For what goes wrong and ends nothing.
note() { # WHAT
  say "$1"
  event note why "$1" || true
}

# Every exit that has said why.
leave() { # CODE
  leaving=1
  exit "$1"
}

# An exit without that: a command that failed, or code of slurm.setup that ended the shell. Never with 1 or 3, which would
# end the later jobs of a chain.
on_exit() {
  local answer=$? what=$failed
  [ "$leaving" -eq 0 ] || return 0
  leaving=1
  set +eEu
  if [ -n "$doing" ]; then
    what=$doing
    eval "$kept"
    cd "$folder"
    finish 1 "not tried: $what ended the script with $answer$(last_line "$logs/setup.err")"
  fi
  say "the script failed: ${what:-it ended with $answer}"
  event end code 2 why "the script failed: ${what:-it ended with $answer}" seconds "$SECONDS" nodes "$SLURM_JOB_NUM_NODES"
  exit 2
}
watch_script() {
  trap 'failed="line $LINENO of ${BASH_SOURCE[0]##*/}: $BASH_COMMAND: exit $?"' ERR
  trap on_exit EXIT
  trap on_limit USR1
  trap on_term TERM
}

# A script that is given to sbatch inside an allocation or a step inherits its variables. Those that srun or ranks would take for
# this job's are cleared: srun's inputs for which sbatch was given no option, and of MPI, OpenMP and GPUs what slurm.env does
# not set.
clear_inherited() {
  local name option gone=()
  for name in $(compgen -e); do
    case " ${job_sets[*]} " in *" $name "*) continue ;; esac
    option=${name#SLURM_} option=${option,,} option=${option//_/-}
    case $name in
    OMPI_MCA_orte* | OMPI_MCA_ess* | OMPI_MCA_pmix* | OMPI_MCA_plm* | OMPI_MCA_r[amt][sapm]*) ;; # of mpirun
    OMPI_MCA_*) continue ;; # settings of transports
    SRUN_* | OMPI_* | PMIX_* | PRTE_* | PMI_* | PMI2_* | OMP_* | GOMP_* | KMP_*) ;;
    SLURM_MEM_PER_NODE) option=mem ;; # Slurm sets it unless --mem is 0; the step gets the job's memory without it
    *_VISIBLE_DEVICES | ZE_AFFINITY_MASK) # Slurm sets them for a step anew where it has given GPUs
      case " ${job_sets[*]} " in *" gres "* | *" gpus-per-node "*) continue ;; esac
      [ "$name" != NVIDIA_VISIBLE_DEVICES ] || continue # of containers
      ;;
    SLURM_CPU_BIND* | SLURM_MEM_BIND* | SLURM_MEM_PER_* | SLURM_DIST* | SLURM_EXACT | SLURM_EXCLUSIVE | SLURM_OVERLAP | SLURM_WHOLE) ;;
    SLURM_OVERCOMMIT | SLURM_HINT | SLURM_THREADS* | SLURM_NTASKS_PER_[CSG]* | SLURM_CPUS_PER_GPU | SLURM_GPUS_PER_[TS]* | SLURM_GPU_*) ;;
    SLURM_TRES_PER_TASK | SLURM_TRES_BIND | SLURM_CORE_SPEC | SLURM_THREAD_SPEC | SLURM_KILL_BAD_EXIT | SLURM_WAIT | SLURM_LABELIO) ;;
    SLURM_STD*MODE | SLURM_OPEN_MODE | SLURM_TIMELIMIT | SLURM_MPI_TYPE | SLURM_REMOTE_CWD | SLURM_WORKING_DIR | SLURM_HOSTFILE) ;;
    SLURM_PROLOG | SLURM_EPILOG | SLURM_TASK_PROLOG | SLURM_TASK_EPILOG | SLURM_EXIT_* | SLURM_IMMEDIATE | SLURM_NO_KILL) ;;
    SLURM_STEP_GRES | SLURM_RESV_PORTS | SLURM_CONSTRAINT | SLURM_NETWORK | SLURM_RESERVATION | SLURM_USE_MIN_NODES) ;;
    *) continue ;;
    esac
    case " ${job_sets[*]} " in
    *" $option "*) [ "$option" != mem ] || unset "$name" ;;
    *) unset "$name" && gone+=("$name") ;;
    esac
  done
  [ ${#gone[@]} -eq 0 ] || note "variables of the shell that called sbatch, cleared: ${gone[*]}"
}

# ": TEXT" of what a program has written last.
last_line() { # FILE
  local text
  text=$(grep -v '^[[:space:]]*$' "$1" 2>/dev/null | tail -n 1) || true
  printf '%s' "${text:+: $text}"
}

# The text or number of KEY in such a line.
value() { # LINE KEY
  local rest=${1#*"\"$2\":"}
  case $rest in
  \"*) rest=${rest#\"} && printf '%s' "${rest%%\"*}" ;;
  *) printf '%s' "${rest%%,*}" ;;
  esac
}

# What a start ends with: how long it held its nodes, and what that was.
finish() { # CODE WHAT [CODE-OF-THE-EVENT]
  event end code "${3:-$1}" why "$2" seconds "$SECONDS" nodes "$SLURM_JOB_NUM_NODES"
  say "$2"
  epilogue || note "what the run cost is not known: a command of its sum failed"
  case $1 in 0 | 1 | 3 | 4) drop_chain ;; esac
  leave "$1"
}

# slurm/job lists the jobs of a chain in order: those after this one wait for it.
later_jobs() { sed "0,/^$job\$/d" "$run/slurm/job" 2>/dev/null || true; }

# No later job of the chain goes on with a run that is done, or that must be mended first.
drop_chain() {
  local later
  mapfile -t later < <(later_jobs)
  [ ${#later[@]} -eq 0 ] || scancel "${later[@]}" || note "jobs ${later[*]} of the chain are still queued, for nothing"
}

# A file in the run folder asks the run to stop. Ranks heed it and take it away; while none run, this does.
heed_stop() {
  [ -e "$run/stop" ] || return 0
  rm -f "$run/stop" || note "$run/stop cannot be removed: it stops the next start, too"
  drop_chain
  finish 5 "stopped as asked by $run/stop" stop
}

# Ranks say what stopped them. After such a file nobody goes on: no later job, nor this one though its limit is near.
stopped_by_file() { grep -qs '^stopped .*, as asked by ' "$logs/rank.0.$try.log"; }

# Slurm may start a job of a chain although the one before has ended the chain.
heed_chain() {
  local end before code why
  end=$(grep '"event":"end"' "$run/slurm/events.jsonl" 2>/dev/null | tail -n 1 || true)
  before=$(value "$end" job)
  [ -n "$before" ] && sed "/^$job\$/,\$d" "$run/slurm/job" 2>/dev/null | grep -qx "$before" || return 0
  code=$(value "$end" code) why=$(value "$end" why)
  case $code in
  0 | 4) finish 4 "nothing is left to do: job $before has finished the run" ;;
  1 | 3) finish "$code" "job $before: $why" ;;
  esac
}

# Of all starts of this run: node-hours, the share of them that was training, and their price.
epilogue() {
  local steps_s=0
  [ ! -s "$run/metrics.jsonl" ] ||
    steps_s=$(sed -n 's/^{"step":\([0-9]*\),.*"step_ms":\([0-9.e+]*\),.*/\1 \2/p' "$run/metrics.jsonl" |
      awk '{ ms[$1] = $2 } END { for (step in ms) sum += ms[step]; printf "%.3f", sum / 1000 }')
  sed -n 's/.*"seconds":"\([0-9]*\)","nodes":"\([0-9]*\)".*/\1 \2/p' "$run/slurm/events.jsonl" |
    awk -v steps_s="$steps_s" -v planned="$nodes" -v gpus="$((devices > 0 ? ranks : 0))" -v price="$price" '
      { starts++; held_s += $1; node_s += $1 * $2 }
      END {
        printf "held %.3f node-hours in %d start%s", node_s / 3600, starts, starts == 1 ? "" : "s"
        if (gpus > 0) printf ", %.3f GPU-hours", node_s * gpus / planned / 3600
        if (held_s > 0) printf ", %.0f %% of the time in steps", 100 * steps_s / held_s
        if (price > 0) printf ", $%.2f", node_s / 3600 * price
        printf "\n"
      }'
  accounts
}

# The same as Slurm counts it, and a site bills: what this run's jobs were given, up to now. Many clusters keep no accounts;
# and near the limit there is no time to wait for those that do not answer.
accounts() {
  local jobs since rows line='' answer=0
  jobs=$(sed -n 's/.*"job":\([0-9]*\),.*/\1/p' "$run/slurm/events.jsonl" | sort -nu | paste -sd,)
  since=$(sed -n '1s/^{"time":\([0-9]*\)[.,].*/\1/p' "$run/slurm/events.jsonl")
  printf -v since '%(%FT%T)T' "${since:-0}"
  rows=$(timeout 5 sacct --jobs="$jobs" --starttime="$since" --allocations --duplicates --noheader --parsable2 \
    --format=State,ElapsedRaw,AllocTRES 2>"$logs/sacct.err") || answer=$?
  [ "$answer" -ne 0 ] || line=$(counted <<<"$rows")
  if [ -z "$line" ]; then
    line=$(sed -nE 's/^(sacct|timeout): (error|fatal): //p' "$logs/sacct.err" | sed -n 1p)
    [ -n "$line" ] || line=$(last_line "$logs/sacct.err" | sed -E 's/^: ((sacct|timeout): )?//')
    [ "$answer" -ne 124 ] || line="no answer in 5 s"
    line="no accounts of job ${jobs//,/, } from sacct: ${line:-it has none}"
  fi
  echo "$line"
}

counted() { # lines STATE|SECONDS|cpu=64,gres/gpu=8,node=2 of each start; nothing where there is none
  awk -F'|' '
    NF < 3 || $3 == "" { next } # a warning, or a start that is still to come
    {
      n = split($3, given, ",")
      nodes = gpus = typed = 0
      for (i = 1; i <= n; i++) {
        split(given[i], pair, "=")
        if (pair[1] == "node") nodes = pair[2]
        if (pair[1] == "gres/gpu") gpus = pair[2]
        if (pair[1] ~ /^gres\/gpu:/) typed += pair[2]
      }
      sub(/ .*/, "", $1) # CANCELLED by somebody
      starts++; node_s += nodes * $2; gpu_s += (gpus > 0 ? gpus : typed) * $2
      if (count[$1]++ == 0) kind[++kinds] = $1
      last = $3 " for " $2 " s"
    }
    END {
      if (starts == 0) exit
      printf "Slurm counts %.3f node-hours in %d start%s (", node_s / 3600, starts, starts == 1 ? "" : "s"
      for (i = 1; i <= kinds; i++) printf "%s%d %s", (i > 1 ? ", " : ""), count[kind[i]], kind[i]
      printf ")"
      if (gpu_s > 0) printf ", %.3f GPU-hours", gpu_s / 3600
      printf "; the last had %s\n", last
    }'
}

# A start that was killed with its node wrote no end: it held its nodes until something was last written.
close_lost_start() {
  local last start written nodes_then
  [ -s "$run/slurm/events.jsonl" ] || return 0
  last=$(grep -v '"event":"note"' "$run/slurm/events.jsonl" | tail -n 1)
  case $last in *'"event":"end"'* | *'"event":"cancel"'*) return 0 ;; esac
  start=$(sed -n 's/^{"time":\([0-9]*\)[.,].*"event":"start".*/\1/p' "$run/slurm/events.jsonl" | tail -n 1)
  nodes_then=$(sed -n 's/.*"event":"start".*"nodes":"\([0-9]*\)".*/\1/p' "$run/slurm/events.jsonl" | tail -n 1)
  written=$(stat -c %Y "$run/metrics.jsonl" 2>/dev/null || stat -c %Y "$run/slurm/events.jsonl")
  [ "$written" -ge "${start:-$written}" ] || written=$start
  event end code lost why "ended without a word: a node failed, or the job was killed" \
    seconds $((written - ${start:-written})) nodes "${nodes_then:-$nodes}"
}

# Slurm ends this script while it is told which nodes to avoid, so the request comes first and TERM is ignored.
back_to_queue() { # WHY
  local onwards='goes on from the last checkpoint'
  [ -n "$checkpoints" ] || onwards='starts from the beginning'
  if [ "$requeue" -eq 0 ]; then
    local next
    next=$(later_jobs | sed -n 1p)
    say "slurm.requeue is off; ${next:+job }${next:-lockstep submit} $onwards"
    finish "$code" "$1"
  fi
  event end code requeue why "$1" seconds "$SECONDS" nodes "$SLURM_JOB_NUM_NODES" avoid "$avoid"
  say "$1: back into the queue${avoid:+, without $avoid}"
  epilogue || note "what the run cost is not known: a command of its sum failed"
  [ "$needs_hosts" -eq 0 ] || avoid='' # no other node replaces one of these
  trap '' TERM
  if ! scontrol requeue "$SLURM_JOB_ID"; then
    say "Slurm does not take the job back; lockstep submit $onwards"
    event end code "$code" why "$1; scontrol requeue failed: lockstep submit $onwards"
    leave "$code"
  fi
  local tries=0 before
  before=$(scontrol -o show job "$SLURM_JOB_ID" | sed -n 's/.* ExcNodeList=\([^ ]*\).*/\1/p')
  case $before in '' | '(null)') ;; *) avoid=${avoid:+$avoid,$before} ;; esac
  while [ -n "$avoid" ] && [ "$tries" -lt 5 ]; do
    scontrol update "JobId=$SLURM_JOB_ID" "ExcNodeList=$avoid" && break
    tries=$((tries + 1))
    [ "$tries" -lt 5 ] || note "scontrol update failed: the job may come back on $avoid"
    sleep 0.3
  done
  leave "$code"
}

# The limit ends this job: the next of the chain goes on, or this one from the queue.
hand_over() { # WHY
  local next
  next=$(later_jobs | sed -n 1p)
  [ -n "$next" ] || back_to_queue "$1"
  code=5
  event end code chain why "$1" seconds "$SECONDS" nodes "$SLURM_JOB_NUM_NODES"
  say "$1: job $next goes on"
  epilogue || note "what the run cost is not known: a command of its sum failed"
  leave 5
}

on_limit() {
  at_limit=1
  say "the limit is near: ranks finish their step${checkpoints:+ and save}"
  event limit
  [ -z "$step_pid" ] || tell_ranks
}

# srun hands the signal on to every rank, once these train: sooner it would end what Slurm runs before them.
tell_ranks() {
  [ "$told" != "$step_pid" ] || return 0
  told=$step_pid
  while kill -0 "$step_pid" 2>/dev/null; do
    if [ "$run/metrics.jsonl" -nt "$logs/try.$try" ]; then
      kill -s "$signal" "$step_pid" 2>/dev/null
      break
    fi
    sleep 0.2
  done &
}
on_term() { # scancel, a failed node, preemption: Slurm has told the ranks as well
  told_to_end=1
  say "told to end"
  event term
}

# Of what scontrol prints the names of hosts: a site may print more.
hostnames() { scontrol show hostnames "$1" | grep -E '^[A-Za-z0-9._-]+$'; }

newest_checkpoint() {
  local each newest=
  for each in "$checkpoints"/step_*/manifest.json; do # one being written or removed has a longer name
    each=${each%/*} each=${each##*/}
    [[ $each =~ ^step_([0-9]{8,18})$ ]] || continue
    [ -n "$newest" ] && [ "$((10#${BASH_REMATCH[1]}))" -lt "$((10#${newest#step_}))" ] || newest=$each
  done
  printf '%s' "$newest"
}

# Without spares a node that fails makes the run smaller: of the plans for fewer nodes (slurm.elastic) the largest for those that
# are left without $avoid. False: there is none.
take_fewer() { # WHY
  local left each of i
  [ ${#fewer[@]} -gt 0 ] || return 1
  left=$((SLURM_JOB_NUM_NODES - $(tr ',' '\n' <<<"$avoid" | sort -u | grep -c .)))
  [ "$left" -lt "$nodes" ] || return 0 # the plan still fits
  for each in "${fewer[@]}"; do
    IFS=: read -r -a of <<<"$each"
    each=${each#*:*:*:}
    if [ "${of[0]}" -gt "$left" ] || [ ! -s "$each" ]; then continue; fi
    nodes=${of[0]} ranks=${of[1]} plan_id=${of[2]} plan=$each
    for i in "${!step[@]}"; do
      case ${step[i]} in --nodes=*) step[i]=--nodes=$nodes ;; --ntasks=*) step[i]=--ntasks=$ranks ;; esac
    done
    say "goes on with $nodes of $SLURM_JOB_NUM_NODES nodes, without $avoid: $ranks ranks, $plan"
    event elastic nodes "$nodes" avoid "$avoid" why "$1"
    return 0
  done
  return 1
}

# A host for each rank, in the plan's order. What it does not name, another host than Slurm's first or a spare, comes last.
write_hosts() { # FILE
  local place held listed=() i
  held=" $(hostnames "$SLURM_JOB_NODELIST" | tr '\n' ' ')"
  for place in $(hostnames "${avoid:-none}"); do held=${held/ $place / }; done
  for place in "${hosts[@]}"; do
    case $held in *" ${place%:*} "*) ;; *) continue ;; esac
    listed+=("$place")
    held=${held/ ${place%:*} / }
  done
  for place in $held; do listed+=("$place:${hosts[0]##*:}"); done
  for place in "${listed[@]:0:nodes}"; do
    for ((i = 0; i < ${place##*:}; i++)); do echo "${place%:*}"; done
  done >"$1"
}

# Runs all ranks once: srun's exit code in $code, what it comes to in $ended, what srun says in $messages.
run_step() {
  messages=$logs/srun.$try.err
  : >"$logs/try.$try" # what is newer is of this try
  event try number "$try" nodelist "$SLURM_JOB_NODELIST" avoid "$avoid"
  local leave_out=(${avoid:+--exclude="$avoid"})
  if [ ${#hosts[@]} -gt 0 ]; then # instead of counts a node, and of what is left out
    write_hosts "$logs/hosts.$try"
    export SLURM_HOSTFILE=$logs/hosts.$try
    unset SLURM_NTASKS_PER_NODE SLURM_TASKS_PER_NODE
    leave_out=()
  fi
  srun "${step[@]}" "${leave_out[@]}" --open-mode=append --output="$pattern/rank.%t.$try.log" \
    "${inside[@]}" "${wrap[@]}" "$programs/lockstep-rank" "$plan" --no-plot 2>"$messages" &
  step_pid=$!
  [ "$at_limit" -eq 0 ] || tell_ranks
  while kill -0 "$step_pid" 2>/dev/null; do wait "$step_pid" || true; done # a trap ends a wait
  code=0
  wait "$step_pid" || code=$?
  step_pid=''
  cat "$messages"
  ended=$(code_of_ranks)
}

# The node that failed, of what srun says; of ranks that were killed the first, for the others end because of it. Else of
# what the ranks say: one that was lost, or fell silent.
blamed_node() {
  local blamed
  blamed=$(sed -nE 's/^srun: error: Node failure on ([^ ,]+).*/\1/p
    s/^srun: error: ([^ :]+): tasks? [^:]*: (Killed|Bus error|Aborted|Segmentation fault).*/\1/p' "$messages" | sed -n 1p)
  if [ -z "$blamed" ] && [ "$run/failure.json" -nt "$logs/try.$try" ]; then
    blamed=$(sed -nE '1s/.*"loss":"(dead|silent|node)","rank":[0-9]+,"node":"([^"]*)".*/\2/p' "$run/failure.json")
    hostnames "$SLURM_JOB_NODELIST" | grep -qxF "${blamed:-none}" || blamed=''
  fi
  printf '%s' "$blamed"
}

# Whether srun says that a rank left one of these codes.
has_left() { grep -Eq "^srun: error: .*Exited with exit code ($1)\$" "$messages"; }

# What the step as a whole has left. Ranks that end because another did leave 6, and srun's code is the highest of all, so
# each of the codes is looked at. A rank that calls the job wrong says why: other programs, as srun itself or a task prolog,
# leave 1 for anything.
code_of_ranks() {
  local own=$code
  [ "$code" -ne 0 ] || { echo 0 && return; }
  [ "$code" -ne 6 ] || for own in 4 5 6; do ! has_left $own || break; done
  ! has_left 2 || own=2
  ! has_left 1 || own=1
  ! has_left 3 || own=3
  case $own in 1 | 3) [ -n "$(last_words)" ] || own=2 ;; esac
  [ "$(unstarted "$logs"/rank.*."$try".log)" -lt "$ranks" ] || own=1 # no node has the program, or slurm.wrap's
  echo "$own"
}

last_words() { # of the first rank that says more than that another has ended, for the log and for status
  local log
  for log in "$logs"/rank.*."$try".log; do
    [ ! -s "$log" ] || grep -h '^lockstep-rank: ' "$log" || true
  done | grep -Ev '^lockstep-rank: ended because|another rank' | head -n 1 || true
}

# How many of these logs say that there was nothing to start.
unstarted() { # LOG...
  local log count=0
  for log in "$@"; do
    [ ! -s "$log" ] || ! grep -q '^slurmstepd.*: error: execve' "$log" || count=$((count + 1))
  done
  echo "$count"
}

# What Slurm says of a step whose ranks say nothing: what ended it first.
slurm_words() { # LOG...
  local kind words
  for kind in '(slurmstepd[^:]*|slurmd[^:]*|srun|sbatch): fatal' '(slurmstepd[^:]*|slurmd[^:]*|srun|sbatch): error' 'slurm(step)?d[^:]*'; do
    words=$(cat "$@" 2>/dev/null | sed -nE "s/^$kind: //p" | grep -Ev ': tasks? [^:]*: (Exited|Killed|Terminated)' | sed -n 1p) || true
    [ -z "$words" ] || break
  done
  printf '%s' "$words"
}

# The last line of a rank that is neither an echo nor progress: of a program before it, or of the loader.
rank_words() {
  local log
  for log in "$logs"/rank.*."$try".log; do
    [ ! -s "$log" ] || tail -n 1 "$log"
  done | grep -Ev '^lockstep-rank: ended because|another rank|^step |^[a-z]+  |^[[:space:]]*$' | sed -n 1p || true
}

reason() {
  local why
  why=$(last_words)
  [ -n "$why" ] || why=$(slurm_words "$logs"/rank.*."$try".log "$messages")
  [ -n "$why" ] || why=$(sed -nE 's/^srun: error: (.*: (Killed|Terminated).*)/\1/p' "$messages" | sed -n 1p)
  [ -n "$why" ] || why=$(rank_words)
  [ -n "$why" ] || why=$(last_line "$messages")
  why=${why#: }
  printf '%s' "${why:-srun ended with $code}"
}

# Each node says what it is and how it reaches the others; then one process reads all lines. Nodes that are not fit are left
# out by spares, or from the queue; when none is, it is not the nodes.
look_at_nodes() {
  local own=() long=() judged=() option findings=$logs/preflight.txt answer=0 verdict=0 bad count first
  [ "$preflight" != full ] || long=(full) judged=(--full "--write=$write")
  for option in "${step[@]}"; do
    case $option in --container* | --no-container* | --mpi=*) own+=("$option") ;; esac
  done
  srun --export=ALL --nodes="$SLURM_JOB_NUM_NODES" --ntasks="$SLURM_JOB_NUM_NODES" --ntasks-per-node=1 --wait=60 \
    --output="$pattern/preflight.%t.line" --error="$pattern/preflight.%t.err" "${own[@]}" "${inside[@]}" "$programs/lockstep-rank" "$plan" --preflight "${long[@]}" \
    2>"$logs/preflight.err" || answer=$?
  srun --export=ALL --nodes=1 --ntasks=1 --output="$pattern/preflight.txt" --error="$pattern/preflight.judge.err" "${own[@]}" "${inside[@]}" "$programs/lockstep-rank" "$plan" \
    --preflight-judge "$plan_id" "${judged[@]}" "$logs"/preflight.*.line 2>>"$logs/preflight.err" || verdict=$?
  cat "$findings" 2>/dev/null || true
  [ $((answer + verdict)) -ne 0 ] || return 0
  cat "$logs"/preflight.*err
  first=$(grep -hE '^(bad [^:]*|all): ' "$findings" 2>/dev/null | sed 's/^bad //; q' || true)
  [ -n "$first" ] || first=$(cat "$logs"/preflight.*err | sed -n 's/^lockstep-rank: //p' | sed -n 1p)
  [ -n "$first" ] || first=$(slurm_words "$logs"/preflight.*err)
  [ -n "$first" ] || first=$(last_line "$logs/preflight.err")
  first=${first#: }
  code=$verdict
  [ "$code" -ne 0 ] || code=$answer
  [ "$(unstarted "$logs"/preflight.[0-9]*.err)" -lt "$SLURM_JOB_NUM_NODES" ] || code=1
  event failure code "$code" node "" why "$first"
  [ "$code" -ne 1 ] || finish 1 "not tried: $first"
  bad=$(sed -n 's/^bad \([^:]*\):.*/\1/p' "$findings" 2>/dev/null | sort -u | paste -sd, || true)
  count=$(tr ',' '\n' <<<"$bad" | grep -c . || true)
  if [ "$count" -eq 0 ] || [ "$count" -eq "$SLURM_JOB_NUM_NODES" ]; then finish "$code" "no node is fit for the plan: $first"; fi
  avoid=$bad
  if [ "$count" -le "$spares" ]; then
    spares=$((spares - count))
    return 0
  fi
  ! take_fewer "not fit for the plan: $first" || return 0
  back_to_queue "not fit for the plan: $first"
}

# Finds the command module where the shell has none: not every site exports it to batch jobs.
find_module() {
  local file
  for file in "${MODULESHOME:-/none}/init/bash" /etc/profile.d/{modules,lmod,z00_lmod}.sh /usr/share/{modules,lmod/lmod}/init/bash; do
    command -v module >/dev/null && return
    # shellcheck disable=SC1090
    [ ! -r "$file" ] || . "$file" 2>/dev/null || true
  done
  command -v module >/dev/null
}

# Old versions of module end with 0 whatever they are asked for, and only print that they have not found it.
load_module() { # NAME
  local before=${LOADEDMODULES:-} answer=0
  module load "$1" 2>"$logs/setup.err" || answer=$?
  cat "$logs/setup.err"
  [ "$answer" -eq 0 ] || return "$answer"
  [ "$before" != "${LOADEDMODULES:-}" ] || ! grep -Eqi 'unable to locate|error:|unknown module' "$logs/setup.err"
}

# What slurm.setup and modules change of the shell, beside its variables and functions.
set_back() {
  IFS=$' \t\n'
  export LC_ALL=C
  set +aefuEx +o pipefail
  cd "$folder"
  watch_script
}

watch_script
# memory that network cards read is locked; ranks have many connections
ulimit -S -l hard || note "ulimit -S -l hard fails: little memory can be locked"
ulimit -S -n hard || note "ulimit -S -n hard fails: few files can be open"
close_lost_start
heed_chain
event start nodes "$SLURM_JOB_NUM_NODES" nodelist "$SLURM_JOB_NODELIST" limit "$limit_s" ranks "$ranks"
say "job $job, start $restart: $ranks rank$([ "$ranks" = 1 ] || echo s) on $SLURM_JOB_NODELIST"
[ "$at_limit" -eq 0 ] || on_limit
[ "$told_to_end" -eq 0 ] || on_term
clear_inherited

# Modules and slurm.setup run in this shell, because they set its environment and limits. Variables, functions and options of
# the script are set back after each: those of other code may have the same names.
if [ ${#modules[@]} -gt 0 ] || [ ${#setup[@]} -gt 0 ]; then
  functions=() # the script's
  for name in $(compgen -A function); do
    case $inherited in *" $name "*) ;; *) functions+=("$name") ;; esac
  done
  # shellcheck disable=SC2046 # words
  kept=$(
    shopt -p || true
    declare -f "${functions[@]}"
    declare -p $(comm -23 <(compgen -v | grep '^[a-z]' | sort) <(compgen -e | sort))
  )
  set +eEu +o pipefail
  if [ ${#modules[@]} -gt 0 ]; then
    find_module || finish 1 "not tried: slurm.modules, and there is no command module on ${SLURMD_NODENAME:-this node}"
    [ "$purge" -eq 0 ] || module purge || note "module purge ends with $?: what it has not unloaded, as sticky modules, stays"
    eval "$kept"
  fi
  for module_name in "${modules[@]}"; do
    doing="module load $module_name"
    load_module "$module_name" || setup_failed=$?
    eval "$kept"
    set_back
    [ -z "${setup_failed:-}" ] || finish 1 "not tried: module load $module_name fails$(last_line "$logs/setup.err")"
  done
  [ ${#modules[@]} -eq 0 ] || module -t list 2>&1
  setup_folder=$folder
  for setup_command in "${setup[@]}"; do
    doing="slurm.setup: $setup_command"
    { cd "$setup_folder" && eval "$setup_command"; } 2>"$logs/setup.err" || setup_failed=$?
    setup_folder=$PWD
    eval "$kept"
    set_back
    cat "$logs/setup.err"
    [ -z "${setup_failed:-}" ] ||
      finish 1 "not tried: slurm.setup: $setup_command ends with $setup_failed$(last_line "$logs/setup.err")"
  done
  set -eEuo pipefail
fi
command -v srun >/dev/null || finish 1 "not tried: there is no srun in PATH; where module purge unloads Slurm, slurm.purge = false keeps it"
[ -s "$plan" ] || finish 1 "not tried: $plan is missing; lockstep submit writes it"

heed_stop
[ "$preflight" = off ] || look_at_nodes
failures=0 seen=$(newest_checkpoint)
while :; do
  run_step
  newest=$(newest_checkpoint)
  [ "$newest" = "$seen" ] || failures=0 # what came further may fail as often again
  seen=$newest
  case $ended in
  0) finish 0 "done" ;;
  4) finish 4 "nothing is left to do" ;;
  1 | 3) finish "$ended" "not tried again: $(reason)" ;;
  5)
    code=5 saved=', and saved'
    [ -n "$checkpoints" ] || saved='; nothing is saved: checkpoint.every is never'
    if stopped_by_file; then
      drop_chain
      finish 5 "stopped as asked by $run/stop$saved"
    fi
    [ "$at_limit" -eq 1 ] && [ -n "$checkpoints" ] && hand_over "saved before the limit"
    finish 5 "stopped as asked$saved"
    ;;
  esac
  why=$(reason)
  bad=$(blamed_node)
  event failure code "$code" node "$bad" why "$why" \
    last_step "$(stat -c %.3Y "$run/metrics.jsonl" 2>/dev/null || true)"
  say "a failure${bad:+ on $bad}: $why"
  heed_stop
  [ "$at_limit" -eq 0 ] || hand_over "the limit came before ranks had saved"
  [ "$told_to_end" -eq 0 ] || finish "$code" "ended by Slurm"
  failures=$((failures + 1))
  if [ -n "$bad" ] && [ "$spares" -gt 0 ]; then
    avoid=${avoid:+$avoid,}$bad
    spares=$((spares - 1))
  elif [ -n "$bad" ] && [ "$failures" -le "$retries" ]; then
    before=$avoid
    avoid=${avoid:+$avoid,}$bad
    take_fewer "$why" || avoid=$before
  fi
  if [ "$failures" -le "$retries" ]; then
    try=$((try + 1))
    say "retry $failures of $retries"
    continue
  fi
  [ -z "$bad" ] || avoid=${avoid:+$avoid,}$bad
  if [ "$newest" = "$(cat "$run/slurm/last_requeue" 2>/dev/null || echo none)" ]; then
    drop_chain # from one checkpoint other nodes are tried once
  elif [ -n "$bad" ] || [ -n "$(later_jobs)" ]; then
    printf '%s' "$newest" >"$run/slurm/last_requeue"
    [ -z "$bad" ] || back_to_queue "$retries retries were not enough: $why"
  fi
  finish "$code" "given up: $failures failures without a new checkpoint, the last: $why"
done
