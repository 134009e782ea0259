return job {
  name = "a"
  reason = "b",
}
-- >>> exit 1
job.lua:3:3: error[syntax]: '}' expected (to close '{' at line 1) near 'reason'
    3 |   reason = "b",
      |   ^~~~~~
    note: a comma may be missing before 'reason'
