return job {
  name = "a,
}
-- >>> exit 1
job.lua:2:10: error[syntax]: unfinished string near '"a,'
    2 |   name = "a,
      |          ^~~
