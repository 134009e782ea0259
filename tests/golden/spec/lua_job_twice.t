local a = job { name = "a" }
local b = job { name = "b" }
return a
-- >>> exit 1
job.lua:2:11: error[not-a-job]: job is called a second time; a file is one job,
    and one of the two would be ignored
    2 | local b = job { name = "b" }
      |           ^~~
