# circles.awk -- no two rooms of the compiler include each other, directly or through others. The sources are its arguments.
function room_of(path,   part, n) {
  n = split(path, part, "/")
  return n > 2 ? part[2] : ""
}
/^#include "compiler\// {
  split($0, quoted, "\"")
  from = room_of(FILENAME); to = room_of(quoted[2])
  if (from != "" && to != "" && from != to) { reaches[from, to] = 1; rooms[from]; rooms[to] }
}
END {
  for (via in rooms) for (from in rooms) for (to in rooms)
    if ((from, via) in reaches && (via, to) in reaches) reaches[from, to] = 1
  for (from in rooms) for (to in rooms) {
    if (from >= to || !((from, to) in reaches) || !((to, from) in reaches)) continue
    printf "lint: compiler/%s and compiler/%s include each other, directly or through others\n", from, to
    status = 1
  }
  exit status
}
