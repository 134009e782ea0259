-- RUN: check job.lua -D offload.optimizer=cpu
return job {
  model = { "gpt2", layers = 4, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 1, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  parallel = { pp = 2, pipeline = "zb-h1" },
  cluster = { "here", devices = 2, host = "4GB" },
  offload = { grads = "cpu" },
}
-- >>> exit 1
job.lua:8:23: error[conflict]: offload.grads: a layer's gradients pass through
    the device once a micro-batch, and this pipeline makes those of weights
    later than the others
    8 |   offload = { grads = "cpu" },
      |                       ^~~~~
        fix: parallel = { pipeline = "1f1b" }
