-- RUN: check job.lua --no-data -D 'offload.optimizer={"cpu", share = "0%"}'
return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  offload = { optimizer = { "cpu", part = "60%" } },
}
-- >>> exit 1
-D offload.optimizer={"cpu", share = "0%"}: error[range]: offload.optimizer:
    share is above 0, and at most 100 %
        fix: -D 'offload.optimizer={ "cpu", share = "60%" }'
