return job {
  model     = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data      = "synthetic",
  train     = { batch = "8 sequences", microbatch = 2, steps = 10 },
  cluster = "xyz-b500",
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:5:13: error[unknown-preset]: no cluster is named 'xyz-b500'; the library
    has: cpu-node dgx-a100 dgx-b200 dgx-h100 dgx-h200 frontier-like gb200-nvl72
    gb300-nvl72 ndv4 ndv5 p4d p5 here
    5 |   cluster = "xyz-b500",
      |             ^~~~~~~~~~
