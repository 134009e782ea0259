-- RUN: sbatch job.lua --no-data
return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "96 sequences", microbatch = 1, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "cpu-node", nodes = 2 },
  slurm = { time = "2h", features = { "milan", "genoa" },
    partitions = { gpu = "40 nodes, 24h", debug = "2 nodes, 30m", GPU_x = true }, partition = "debug" },
}
-- >>> exit 1
job.lua:7:20: error[slurm-site]: slurm.time is 7200 s; partition debug ends jobs
    after 1800 s, by the site's profile
    7 |   slurm = { time = "2h", features = { "milan", "genoa" },
      |                    ^~~~
        fix: slurm.time = "30m"; a longer run goes on in the next job
