-- Sharding the optimizer saves much and is not enough; sharding gradients is, and makes it needless.
return job {
  model = { "gpt2", layers = 2, width = 64, heads = 2, vocab = 50257, positions = 1024 },
  data = "synthetic",
  train = { batch = "64 sequences", microbatch = 16, context = 64, steps = 1 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = "bf16",
  parallel = { dp = 4, zero = 0 },
  cluster = { "cpu-node", memory = "8GiB", devices = 4 },
  memory = { budget = "145MB" },
}
-- >>> exit 1
job.lua:10:23: error[does-not-fit]: a rank needs 177 MB, its budget is 145 MB
    (`lockstep explain` shows the table)
   10 |   memory = { budget = "145MB" },
      |                       ^~~~~~~
        fix: -D parallel.zero=2
    note: with parallel.zero = 2              it needs 144 MB: fits
