-- RUN: sbatch job.lua --no-data
return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "96 sequences", microbatch = 1, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "cpu-node", nodes = 48 },
  slurm = { time = "2h", features = { "milan", "genoa" },
    partitions = { gpu = "40 nodes, 24h", debug = "2 nodes, 30m", GPU_x = true }, partition = "gpu", spares = 1 },
}
-- >>> exit 1
job.lua:6:35: error[slurm-site]: the job takes 49 nodes; partition gpu has 40,
    by the site's profile
    6 |   cluster = { "cpu-node", nodes = 48 },
      |                                   ^~
