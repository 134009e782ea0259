-- RUN: sbatch job.lua --no-data
return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  optimizer = { "adamw", lr = 1e-3 },
  train = { batch = "8 sequences", microbatch = 1, steps = 10 },
  slurm = { time = "1m" },
}
-- >>> exit 1
job.lua:6:20: error[slurm-time]: slurm.time is 60.0 s; saving before the limit
    takes 81 s of it: 2 steps of 10.0 s, a checkpoint of 449 kB in 449 us,
    slurm.margin 60 s
    6 |   slurm = { time = "1m" },
      |                    ^~~~
        fix: slurm.time = "4m"
