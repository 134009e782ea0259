-- RUN: sbatch job.lua --no-data
return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "96 sequences", microbatch = 1, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "cpu-node", nodes = 2 },
  slurm = { time = "2h",
    partitions = { gpu = "40 nodes, 24h", debug = "many" } },
}
-- >>> exit 1
job.lua:8:18: error[wrong-type]: slurm.partitions: "many" is no size of a
    partition; got for debug
    8 |     partitions = { gpu = "40 nodes, 24h", debug = "many" } },
      |                  ^
        fix: slurm.partitions = { debug = "40 nodes, 24h" }
