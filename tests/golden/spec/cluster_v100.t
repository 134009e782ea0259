return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "here", device = "v100-32" },
}
-- >>> exit 1
job.lua:6:15: error[device-precision]: v100-32 has no bf16 arithmetic
    6 |   cluster = { "here", device = "v100-32" },
      |               ^~~~~~
        fix: precision = "fp16"
