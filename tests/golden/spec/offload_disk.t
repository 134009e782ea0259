-- RUN: compile job.lua
return job {
  model = "llama2-7b",
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 1, context = 4096, steps = 1 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = "bf16",
  cluster = { "dgx-h100", devices = 1, disk = "100GB" },
  offload = { optimizer = "nvme", path = "/scratch", disk = "50%" },
}
-- >>> exit 1
job.lua:8:61: error[does-not-fit]: files: the rank of a node needs 80.9 GB,
    offload.disk is 50.0 GB
    8 | er = "nvme", path = "/scratch", disk = "50%" },
      |                                        ^~~~~
        fix: disk = "80864280576B"
