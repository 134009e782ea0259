return job {
  model = { "gpt2", layers = 4, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 1, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  offload = { update = "device" },
}
-- >>> exit 1
job.lua:6:24: error[conflict]: offload.update is for states in host memory; they
    do not leave
    6 |   offload = { update = "device" },
      |                        ^~~~~~~~
        fix: remove update
