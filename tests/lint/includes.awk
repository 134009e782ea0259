# includes.awk -- checks the include direction. First file: the table; then sources.
# Table lines: ROOM: ROOM ROOM ... ; a room is a path prefix; the longest prefix wins; every room may include itself.
function room_of(path,   r, best) {
  best = ""
  for (r in rooms) if (index(path, r) == 1 && length(r) > length(best)) best = r
  return best
}
FNR == 1 { file_number++ }
file_number == 1 {
  sub(/#.*/, "")
  if ($0 !~ /:/) next
  name = $1; sub(/:$/, "", name)
  rooms[name] = 1
  for (i = 2; i <= NF; i++) allowed[name, $i] = 1
  next
}
/^#include "/ {
  split($0, parts, "\"")
  from = room_of(FILENAME); to = room_of(parts[2])
  if (from == "" || from ~ /^tests/ || from ~ /^bench/) next
  if (to == "") { printf "lint: %s:%d: \"%s\" is no path from the repository's root\n", FILENAME, FNR, parts[2]; bad = 1; next }
  if (from != to && !((from, to) in allowed)) {
    printf "lint: %s:%d: %s may not include %s (tests/lint/includes.txt)\n", FILENAME, FNR, from, to
    bad = 1
  }
}
/^#include </ {
  from = room_of(FILENAME)
  split($0, parts, /[<>]/)
  header = parts[2]
  library = header ~ /^(lua|lauxlib|lualib)/ ? "<lua>" : header ~ /^hwloc/ ? "<hwloc>" : header ~ /^libxml/ ? "<libxml>" : header ~ /^yaml/ ? "<yaml>" : header ~ /^(dnnl|cblas)/ ? "<blas>" : header ~ /^jansson/ ? "<jansson>" : header ~ /^(mpi|pmix)/ ? "<mpi>" : ""
  if (library != "" && from !~ /^tests/ && from !~ /^bench/ && !((from, library) in allowed)) {
    printf "lint: %s:%d: %s may not include %s\n", FILENAME, FNR, from, library
    bad = 1
  }
}
END { exit bad }
