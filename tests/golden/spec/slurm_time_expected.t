-- RUN: explain job.lua --launch --no-data | grep -A1 -e '--time'
return job {
  model = "llama3-8b",
  data = "synthetic",
  train = { batch = "512 sequences", context = 4096, microbatch = 1, steps = 1000 },
  optimizer = { "adamw", lr = 3e-4 },
  cluster = { "dgx-h100", nodes = 2 },
  slurm = "plain",
}
-- >>> exit 0
  --time=03:33:00                   slurm.time; derived: 1,000 steps of 12.0 s
                                    at the long end of what is expected
