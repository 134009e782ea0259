-- RUN: estimate --template job.lua
return job {}
-- >>> exit 1
lockstep: estimate wants a table and a job: --csv FILE --template JOB.lua
