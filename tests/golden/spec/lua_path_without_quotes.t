return job {
  model     = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data      = { train = data/train.u8 },
  train     = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:3:25: error[unknown-name]: nothing is named 'data' here;
    text is written in quotes
    3 |   data      = { train = data/train.u8 },
      |                         ^~~~
        fix: "data/train.u8"
