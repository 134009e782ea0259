return job { "./nothere.lua", train = { steps = 5 } }
-- >>> exit 1
job.lua:1:14: error[no-file]: cannot read nothere.lua: there is no such file
    1 | return job { "./nothere.lua", train = { steps = 5 } }
      |              ^~~~~~~~~~~~~~~
