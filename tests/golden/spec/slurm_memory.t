-- RUN: sbatch job.lua --no-data
return job {
  model = "llama2-7b",
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 1, context = 4096, steps = 1 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = "bf16",
  cluster = { "dgx-h100", devices = 1 },
  memory = { recompute = "block" },
  offload = "cpu",
  slurm = { time = "24h", sbatch = { mem = "64G" }, srun = { ["mem-per-gpu"] = "64000" } },
}
-- >>> exit 1
job.lua:10:36: error[does-not-fit]: slurm.sbatch: --mem=64G limits a node to
    68.7 GB of memory, and the plan puts 189 GB there for 1 rank
   10 |   slurm = { time = "24h", sbatch = { mem = "64G" }, srun = { ["mem-per-gpu"] = "64000" } }
      |                                    ^
        fix: slurm.sbatch = { mem = "0" }
    note: without a limit, or with 0, the job gets all memory of its nodes; a
    limit must also hold programs and libraries
