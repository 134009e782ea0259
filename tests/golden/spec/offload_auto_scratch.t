-- RUN: explain job.lua | grep -E "^auto|of a rank  "
return job {
  model = "llama2-7b",
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 1, context = 4096, steps = 1 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = "bf16",
  cluster = { "dgx-h100", devices = 1, host = "48GB", disk = "1TB" },
  memory = { recompute = "block", budget = "95%" },
  offload = { "auto", disk = "50%", verify = false },
  slurm = { scratch = "/scratch" },
}
-- >>> exit 0
budget   of a rank                   81.196357  h100-sxm, by memory.budget
auto     42.9 GB of states moved: optimizer = { "nvme", most = "42859118592B" }
         file of a rank              42.860937  /scratch
