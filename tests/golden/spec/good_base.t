-- RUN: explain job.lua train --no-data
return job { "./lib/base.lua", train = { steps = 3 }, reason = "shorter" }
-- FILE: lib/base.lua
return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 0
train.batch            8 sequences             base: lib/base.lua:4:21
train.context          64                      derived: model.positions
train.microbatch       2                       base: lib/base.lua:4:49
train.steps            3                       job: job.lua:1:50
train.seed             1,337                   default
train.deterministic    false                   default
train.validate_every   0                       derived: no data.valid
train.validate_steps   0                       derived: no data.valid
