-- RUN: help batch-identity
-- >>> exit 0
batch-identity
    One step is batch = microbatch x accumulation x dp, in whole sequences.
    Accumulation follows from the rest, so the rest must divide.
