-- RUN: explain job.lua | grep -A1 -E "^auto|^ +updates on"
return job {
  model = "llama2-7b",
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 1, context = 4096, steps = 1 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = "bf16",
  parallel = { zero = 1 },
  memory = { budget = "60GB", recompute = "selective" },
  cluster = { "dgx-h100", devices = 8, host_bandwidth = "250GB/s" },
  offload = { "auto", grads = "none", activations = "none" },
}
-- >>> exit 0
         updates on the device: a step of 408 ms, 466 ms with updates on the
                            host
--
auto     3.23 GB of states moved: optimizer = { "cpu", most = "3232364544B" },
                            update = "device"
