-- RUN: show job.plan --json
-- >>> exit 1
lockstep: show takes no --json; that is an option of: check compile explain tune
    diff help import prove run eval sample submit status tokenize topology bench
    list version checkpoint
