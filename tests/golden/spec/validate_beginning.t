-- RUN: explain job.lua train.validate_steps
-- SETUP: yes abc | head -c 500 > a.u8; yes abc | head -c 3000000 > b.u8
return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = { train = "a.u8", valid = "b.u8", format = "u8" },
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 0
train.validate_steps   2,048                   derived: first 16,384 sequences
                                               of data.valid
