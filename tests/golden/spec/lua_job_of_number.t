return job(5)
-- >>> exit 1
job.lua:1:8: error[not-a-job]: job takes one table, got number
    1 | return job(5)
      |        ^~~
        fix: return job { ... }
