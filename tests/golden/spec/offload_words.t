-- RUN: check job.lua --no-data
return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  offload = { "nvme", budget = "12 steps" },
}
-- >>> exit 1
job.lua:6:15: error[not-built]: offload = "nvme" is not built yet; write
    optimizer = "nvme": states are in a file of offload.path; weights and the
    rest are not
    6 |   offload = { "nvme", budget = "12 steps" },
      |               ^~~~~~
job.lua:6:32: error[unit]: offload.budget: expected "80GiB", "80GB" or "90%";
    got "12 steps"
    6 |   offload = { "nvme", budget = "12 steps" },
      |                                ^~~~~~~~~~
2 errors
