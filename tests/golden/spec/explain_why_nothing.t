-- RUN: explain job.lua --why
return job {}
-- >>> exit 1
lockstep: --why wants a value: --why rank=N|place: every buffer of a rank that
    is alive at its peak; or why ranks are where they are: other orders and what
    they cost
