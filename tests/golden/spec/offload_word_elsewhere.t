return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  offload = { optimizer = "cpu", activations = "nvme", grads = "disk", weights = { "cpu", share = "60%" }, update = "gpu" },
}
-- >>> exit 1
job.lua:6:48: error[unknown-word]: offload.activations: "nvme" is not one of:
    none cpu
    6 |   offload = { optimizer = "cpu", activations = "nvme", grads = "disk", weights = { "cpu", 
      |                                                ^~~~~~
        fix: activations = "cpu"
    note: what forward keeps leaves and returns in every micro-batch: a disk
    takes longer than memory.recompute
job.lua:6:64: error[unknown-word]: offload.grads: "disk" is not one of: none cpu
    6 | = "cpu", activations = "nvme", grads = "disk", weights = { "cpu", share = "60%" }, update 
      |                                        ^~~~~~
        fix: grads = "cpu"
    note: gradients are added to in every micro-batch, so they stay in memory
job.lua:6:82: error[wrong-type]: offload.weights: expected "none" or "cpu" or
    "nvme"; got a table
    6 | ns = "nvme", grads = "disk", weights = { "cpu", share = "60%" }, update = "gpu" },
      |                                        ^
        fix: weights = "cpu"
job.lua:6:117: error[unknown-word]: offload.update: "gpu" is not one of: auto
    host device
    6 | s = { "cpu", share = "60%" }, update = "gpu" },
      |                                        ^~~~~
        fix: update = "device"
4 errors
