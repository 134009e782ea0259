-- The largest micro-batch that fits is proposed, not the smallest.
return job {
  model = { "gpt2", layers = 2, width = 64, heads = 2, vocab = 50257, positions = 1024 },
  data = "synthetic",
  train = { batch = "64 sequences", microbatch = 16, context = 64, steps = 1 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = "bf16",
  parallel = { dp = 4 },
  cluster = { "cpu-node", memory = "8GiB", devices = 4 },
  memory = { budget = "130MB" },
}
-- >>> exit 1
job.lua:10:23: error[does-not-fit]: a rank needs 147 MB, its budget is 130 MB
    (`lockstep explain` shows the table)
   10 |   memory = { budget = "130MB" },
      |                       ^~~~~~~
        fix: -D train.microbatch=8
    note: with train.microbatch = 8           it needs 97.2 MB: fits
