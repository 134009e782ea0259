-- RUN: help --micro-batch-size=4
-- >>> exit 0
micro_batch_size, an option of Megatron-LM: that is train.microbatch here
    train = { microbatch = 2 }
    train.microbatch: what one replica computes at once
