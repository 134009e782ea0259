-- RUN: explain job.lua | grep -A2 -E "^offload"
return job {
  model = "llama2-7b",
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 1, context = 4096, steps = 1 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = "bf16",
  parallel = { zero = 2 },
  cluster = { "dgx-h100" },
  offload = "cpu",
}
-- >>> exit 0
offload  a step: d2h 10.1 GB in 158 ms, h2d 10.1 GB in 158 ms
         151 ms of it exposed, 33 % of the step
         updates on the device: a step of 456 ms, 536 ms with updates on the
