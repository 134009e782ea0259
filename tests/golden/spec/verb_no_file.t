-- RUN: check
-- >>> exit 1
lockstep: check wants JOB.lua; see lockstep check --help
