-- With a sequence cut by tp, the gathered inputs of matrices may be gathered again.
return job {
  model = { "gpt2", layers = 8, width = 256, heads = 4, vocab = 512, positions = 1024 },
  data = "synthetic",
  train = { batch = "1 sequences", microbatch = 1, context = 1024, steps = 1 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = "bf16",
  parallel = { tp = 4 },
  cluster = { "cpu-node", memory = "8GiB", devices = 4 },
  memory = { budget = "56MB", recompute = "none" },
}
-- >>> exit 1
job.lua:10:23: error[does-not-fit]: a rank needs 60.5 MB, its budget is 56.0 MB
    (`lockstep explain` shows the table)
   10 |   memory = { budget = "56MB", recompute = "none" },
      |                       ^~~~~~
        fix: -D parallel.regather=true
    note: with parallel.regather = true       it needs 54.2 MB: fits
