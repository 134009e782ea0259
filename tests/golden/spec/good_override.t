-- RUN: explain job.lua train --no-data -D train.steps=7 -D "train.batch=1Ki tokens" -D train.seed=2^10
return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 0
train.batch            1024 tokens             -D train.batch=1Ki tokens
train.context          64                      derived: model.positions
train.microbatch       2                       job: job.lua:4:49
train.steps            7                       -D train.steps=7
train.seed             1,024                   -D train.seed=2^10
train.deterministic    false                   default
train.validate_every   0                       derived: no data.valid
train.validate_steps   0                       derived: no data.valid
