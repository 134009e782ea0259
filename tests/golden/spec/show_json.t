-- RUN: show job.plan --json
-- >>> exit 1
lockstep: show takes no --json; that is an option of: check compile explain
    prove run tokenize topology bench list version
