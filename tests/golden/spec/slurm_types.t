-- RUN: sbatch job.lua
return job {
  model = { "gpt2", layers = 4, width = 64, heads = 4, vocab = 64, positions = 16 },
  data = "synthetic",
  train = { batch = "12 sequences", steps = 10, microbatch = 1 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = "./c.lua",
  slurm = { time = "1h" },
}
-- FILE: c.lua
return { types = { { "dgx-h100", nodes = 1, devices = 4 }, { "dgx-a100", nodes = 1, devices = 2 } } }
-- >>> exit 1
job.lua:6:13: error[slurm-types]: the cluster has nodes of several types, and
    nothing says which hosts these are
    6 |   cluster = "./c.lua",
      |             ^~~~~~~~~
        fix: hosts = "n[01-04]" in each of types, and switches
