-- RUN: sbatch job.lua --no-data
return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  slurm = { time = "24h", env = { LC_ALL = "de_DE.UTF-8" } },
}
-- >>> exit 1
job.lua:6:33: error[slurm-env]: slurm.env: the script needs LC_ALL for itself;
    slurm.wrap = { "env", "LC_ALL=..." } sets it for the ranks
    6 |   slurm = { time = "24h", env = { LC_ALL = "de_DE.UTF-8" } },
      |                                 ^
