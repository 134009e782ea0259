-- RUN: check job.lua --fast
-- >>> exit 1
lockstep: there is no option --fast; see lockstep help
