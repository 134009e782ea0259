local a = job { name = "a" }
local b = job { name = "b" }
return a
-- >>> exit 1
job.lua:1:11: error[not-a-job]: a job file ends with: return job { ... }
    1 | local a = job { name = "a" }
      |           ^~~
