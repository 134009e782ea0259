-- RUN: help micro-batch-size
-- >>> exit 0
micro-batch-size: no such key; that is train.microbatch here
