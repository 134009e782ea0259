return job { train = { steps = 1x } }
-- >>> exit 1
job.lua:1:32: error[syntax]: malformed number near '1x'
    1 | return job { train = { steps = 1x } }
      |                                ^~
