# circles.awk -- no two rooms include each other, directly or through others. The sources are its arguments. Rooms are the
# folders of the compiler, compile.c, the folders of the runtime, and kernels; slurm/ is a room of the compiler's.
function room_of(path,   part, n) {
  n = split(path, part, "/")
  if (part[1] == "kernels" || part[1] == "slurm") return part[1]
  if (part[1] == "compiler" && part[2] ~ /^compile\.[ch]$/) return "compiler/compile.c"
  if (part[2] == "show") return "compiler/show/" part[3] # slurm is between explain and cli
  return n > 2 ? part[1] "/" part[2] : ""
}
/^#include "(compiler|runtime|kernels|slurm)\// {
  split($0, quoted, "\"")
  from = room_of(FILENAME); to = room_of(quoted[2])
  if (from != "" && to != "" && from != to) { reaches[from, to] = 1; rooms[from]; rooms[to] }
}
END {
  for (via in rooms) for (from in rooms) for (to in rooms)
    if ((from, via) in reaches && (via, to) in reaches) reaches[from, to] = 1
  for (from in rooms) for (to in rooms) {
    if (from >= to || !((from, to) in reaches) || !((to, from) in reaches)) continue
    printf "lint: %s and %s include each other, directly or through others\n", from, to
    status = 1
  }
  exit status
}
