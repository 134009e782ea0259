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
  slurm = { time = "24h", sbatch = { ["mem-per-cpu"] = "1T", ["mem-per-gpu"] = "90gb", exclusive = false }, srun = { mem = "a lot" } },
}
-- >>> exit 1
job.lua:10:36: error[does-not-fit]: slurm.sbatch: --mem-per-gpu=90gb limits a
    node to 96.6 GB of memory, and the plan puts 189 GB there for 1 rank
   10 |   slurm = { time = "24h", sbatch = { ["mem-per-cpu"] = "1T", ["mem-per-gpu"] = "90gb", exc
      |                                    ^
        fix: slurm.sbatch = { mem = "0" }
    note: without a limit, or with 0, the job gets all memory of its nodes; a
    limit must also hold programs and libraries
job.lua:10:116: error[wrong-type]: slurm.srun: --mem is a whole number with K,
    M, G or T (MiB without); got "a lot"
   10 |  = "90gb", exclusive = false }, srun = { mem = "a lot" } },
      |                                        ^
        fix: slurm.srun = { mem = "64G" }
2 errors
