-- RUN: explain job.lua --launch --no-data -q | grep -A3 "^nodes that fail"
return job {
  model = "llama2-7b",
  data = "synthetic",
  train = { batch = "32 sequences", microbatch = 1, context = 4096, steps = 1 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = "bf16",
  cluster = { "dgx-h100", nodes = 2, devices = 8 },
  parallel = { zero = 1 },
  memory = { recompute = "block" },
  offload = "cpu",
  slurm = { time = "24h", elastic = 1, sbatch = { mem = "120G" } },
}
-- >>> exit 0
nodes that fail: the run goes on with fewer (slurm.elastic)
  1 node    no: slurm.sbatch: --mem=120G limits a node to 129 GB of memory, and
            the plan puts 162 GB there for 8 ranks
the limit: ranks save, then back into the queue
