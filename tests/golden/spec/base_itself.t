return job { "./job.lua" }
-- >>> exit 1
job.lua:1:14: error[base-cycle]: job.lua starts from itself
    1 | return job { "./job.lua" }
      |              ^~~~~~~~~~~
