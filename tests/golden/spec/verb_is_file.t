-- RUN: job.lua
-- >>> exit 1
lockstep: a verb comes first: lockstep explain job.lua
