-- RUN: explain job.lua | grep -E "^offload|exposed"
return job {
  model = "llama2-7b",
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 1, context = 4096, steps = 1 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = "bf16",
  cluster = { "dgx-h100", devices = 1, calibration = "./rates.lua" },
  offload = "cpu",
}
-- FILE: rates.lua
return {
  processor = "GenuineIntel family 6 model 143",
  device = "NVIDIA H100 80GB HBM3",
  rates = {
    host_link = { 54000000000, "2026-11-27" },
    host_update = { 200000000000, "2026-11-27" },
  },
}
-- >>> exit 0
job.lua:4:49: lint[small-microbatch]: a rank uses 65 % of its memory, and
    larger micro-batches fit: train.microbatch = 8 takes 119 ms less of 3.28 s a
    step
    4 |   train = { batch = "8 sequences", microbatch = 1, context = 4096, steps = 1 },
      |                                                 ^
        fix: microbatch = 8
offload  a step: d2h 27.0 GB in 499 ms, h2d 13.5 GB in 250 ms, host in 1.0 s
         923 ms of it exposed, 28 % of the step
