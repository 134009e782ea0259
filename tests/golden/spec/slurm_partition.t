-- RUN: sbatch job.lua --no-data
return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "96 sequences", microbatch = 1, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "cpu-node", nodes = 2 },
  slurm = { time = "2h", features = { "milan", "genoa" },
    partitions = { gpu = "40 nodes, 24h", debug = "2 nodes, 30m", GPU_x = true }, partition = "gpu,debgu", sbatch = { constraint = "genoa*2|milano" } },
}
-- >>> exit 1
job.lua:8:95: error[slurm-site]: there is no partition "debgu" by the site's
    profile; did you mean debug?
    8 | des, 30m", GPU_x = true }, partition = "gpu,debgu", sbatch = { constraint = "genoa*2|milan
      |                                        ^~~~~~~~~~~
job.lua:8:117: error[slurm-site]: there is no feature "milano" by the site's
    profile; did you mean milan?
    8 | e }, partition = "gpu,debgu", sbatch = { constraint = "genoa*2|milano" } },
      |                                        ^
2 errors
