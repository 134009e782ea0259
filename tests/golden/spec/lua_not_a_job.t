return { model = "gpt2-124m" }
-- >>> exit 1
job.lua:1:1: error[not-a-job]: a job file ends with: return job { ... }; this
    table has no job
    1 | return { model = "gpt2-124m" }
      | ^~~~~~
        fix: return job {
