return 5
-- >>> exit 1
job.lua: error[not-a-job]: a job file ends with: return job { ... }
