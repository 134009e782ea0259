-- RUN: explain job.lua --launch --no-data -q | grep mem
return job {
  model = "llama2-7b",
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 1, context = 4096, steps = 1 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = "bf16",
  cluster = { "dgx-h100", devices = 1 },
  memory = { recompute = "block" },
  offload = "cpu",
  slurm = { time = "24h", sbatch = { mem = "180G", exclusive = false }, srun = { ["mem-per-gpu"] = "0" } },
}
-- >>> exit 0
  --mem=180G                        slurm.sbatch; job: job.lua:10:36
  --mem-per-gpu=0                   slurm.srun; job: job.lua:10:80
