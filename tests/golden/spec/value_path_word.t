return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  checkpoint = { path = "{scratch}/ck" },
}
-- >>> exit 1
job.lua:6:25: error[path]: checkpoint.path: a path knows {name}, {run},
    {scratch} where slurm.scratch says it, and no other word in braces
    6 |   checkpoint = { path = "{scratch}/ck" },
      |                         ^~~~~~~~~~~~~~
