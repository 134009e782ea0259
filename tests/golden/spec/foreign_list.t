return job {
  model     = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data      = { train = ["a.u8", "b.u8"], format = "u8" },
  train     = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:3:25: error[syntax]: a list is written in braces: { a, b }
    3 |   data      = { train = ["a.u8", "b.u8"], format = "u8" },
      |                         ^
        fix: {"a.u8", "b.u8"}
