-- RUN: check
-- >>> exit 1
lockstep: check wants one job file
