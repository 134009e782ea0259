return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "dgx-h100", nodes = 1e7, devices = 0 },
}
-- >>> exit 1
job.lua:6:35: error[range]: cluster.nodes is 1 to 1048576; got 10000000
    6 |   cluster = { "dgx-h100", nodes = 1e7, devices = 0 },
      |                                   ^~~
job.lua:6:50: error[range]: cluster.devices is 1 to 1024; got 0
    6 |   cluster = { "dgx-h100", nodes = 1e7, devices = 0 },
      |                                                  ^
2 errors
