return job {
  model = { "gpt2", layers = 2, width = 64, heads = 2, vocab = 50257, positions = 1024 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 1, steps = 1 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = "bf16",
  cluster = { "cpu-node", memory = "8GiB" },
  memory = { budget = "120MB" },
}
-- >>> exit 1
job.lua:8:23: error[does-not-fit]: a rank needs 178 MB, its budget is 120 MB
    (`lockstep explain` shows the table)
    8 |   memory = { budget = "120MB" },
      |                       ^~~~~~~
        fix: -D memory.loss_chunks=16
    note: with memory.loss_chunks = 16        it needs 85.1 MB: fits
