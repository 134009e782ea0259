-- RUN: help train.batch
-- >>> exit 0
train.batch
    one optimizer step over the whole job; accumulation follows
    takes    "512Ki tokens", "512 sequences" or "64 samples"
    default  required
