return job {
  model     = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data      = "synthetic",
  train     = { batch = "8 sequences", microbatch = 2, steps = max(3, 4) },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:4:64: error[unknown-name]: nothing is named 'max' here;
    math has it
    4 | "8 sequences", microbatch = 2, steps = max(3, 4) },
      |                                        ^~~
        fix: math.max
