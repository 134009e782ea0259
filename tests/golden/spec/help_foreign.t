-- RUN: help gradient_accumulation_steps
-- >>> exit 0
gradient_accumulation_steps does not exist: accumulation is arithmetic: batch /
    (dp x microbatch)
