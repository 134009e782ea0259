return job {
  model = "llama2-7b",
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 1, context = 4096, steps = 1 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = "bf16",
  cluster = { "dgx-h100", devices = 1, calibration = "./rates.lua" },
}
-- FILE: rates.lua
return { processor = "p", device = "NVIDIA A100-SXM4-80GB", rates = { host_link = { 54000000000, "2026-11-27" } } }
-- >>> exit 1
job.lua:7:54: error[calibration-machine]: rates.lua was measured on NVIDIA
    A100-SXM4-80GB, and the ranks run on NVIDIA H100 80GB HBM3
    7 |   cluster = { "dgx-h100", devices = 1, calibration = "./rates.lua" },
      |                                                      ^~~~~~~~~~~~~
        fix: calibration = "none"
