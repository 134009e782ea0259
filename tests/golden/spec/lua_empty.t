-- >>> exit 1
job.lua: error[not-a-job]: the file is empty; a job file ends with: return job {
    ... }
