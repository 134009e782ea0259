# common.bash -- what the acceptance tests share. Each is called as TEST BUILD_FOLDER and works in $folder.
export CUDA_VISIBLE_DEVICES=
export LC_ALL=C NO_COLOR=1
build=$(realpath "$1")
source_folder=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../..")
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT
failed=0

fail() { printf 'FAILED: %s\n' "$*"; failed=1; }
skip() { printf 'skipped: %s\n' "$*"; exit 0; }

# Whether the build's ranks may be processes: it had PMIx and MPI, and -DPROCESSES=OFF was not given.
has_processes() { grep -q '^WITH_PROCESSES:INTERNAL=ON' "$build/CMakeCache.txt"; }
# Whether Slurm's topology.yaml is read: it had libyaml, and -DYAML=OFF was not given.
has_yaml() { grep -q '^WITH_YAML:INTERNAL=ON' "$build/CMakeCache.txt"; }
# Under a sanitizer a program takes several times as long: tests that say so run a sample of their cases there.
has_sanitizer() { ! grep -q '^SANITIZE:STRING=$' "$build/CMakeCache.txt"; }
# The thread sanitizer takes MPI, which is not built for it, for our fault.
has_thread_sanitizer() { grep -q '^SANITIZE:STRING=thread' "$build/CMakeCache.txt"; }

# English of a kind, for tests that only need bytes: this project's own text, as tokens in $folder/tokens.
make_tokens() {
  cat "$source_folder"/docs/*.md "$source_folder"/compiler/*/*.[ch] >"$folder/text"
  "$build/lockstep" tokenize "$folder/text" -o "$folder/tokens" --hold-out 5% >"$folder/out" 2>&1 ||
    { cat "$folder/out"; fail tokenize; }
}

# wait_until WHAT COMMAND...: until the command succeeds. The limit only ends a test that would wait for ever: a busy machine needs
# a part of it.
wait_until() {
  local i what=$1
  shift
  for ((i = 0; i < 12000; i++)); do
    "$@" && return
    sleep 0.05
  done
  fail "waited 10 minutes for: $what"
  return 1
}

# ranks_of LAUNCHER: its ranks' processes are in `ranks`, in order: their numbers need not be, for these begin again.
ranks_of() { { ranks=() && read -ra ranks <"/proc/$1/task/$1/children"; } 2>/dev/null; }

# number KEY FILE: what follows "KEY": in a JSON file.
number() { grep -o "\"$1\":[-+.0-9e]*" "$2" | head -1 | cut -d: -f2; }

# Step, loss and gradient norm of every step of a metrics.jsonl: what does not depend on the clock.
losses() { sed -n 's/^{"step":\([0-9]*\),"loss":\([^,]*\),"grad_norm":\([^,]*\),.*/\1 \2 \3/p' "$1"; }
