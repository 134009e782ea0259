-- RUN: explain job.lua --launch --no-data
return job {
  model     = { "gpt2", layers = 1, width = 32, heads = 2, vocab = 256, positions = 32 },
  data      = "synthetic",
  train     = { batch = "12 sequences", microbatch = 1, steps = 40 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster   = { "cpu-node", nodes = 6 },
  slurm     = { time = "1h", elastic = 6 },
}
-- >>> exit 1
job.lua:7:40: error[range]: slurm.elastic is the fewest nodes that the run goes
    on with, so it is below its 6 nodes; got 6
    7 |   slurm     = { time = "1h", elastic = 6 },
      |                                        ^
