-- RUN: check job.lua 2>&1 | grep -A1 -E "fix:|grads"
return job {
  model = "llama2-7b",
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 1, context = 4096, steps = 1 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = "bf16",
  memory = { budget = "8GB" },
  cluster = { "dgx-h100", devices = 1, host = "2TiB" },
}
-- >>> exit 1
        fix: -D offload.optimizer=cpu -D offload.weights=cpu -D offload.grads=cpu
    note: with offload.optimizer = "cpu"      it needs 42.3 GB, a step 1.06
--
    note: with offload.grads = "cpu"          it needs 6.28 GB: fits, a step
    2.22 times as long: 6.65 s
