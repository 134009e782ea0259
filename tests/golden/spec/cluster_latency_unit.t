-- RUN: check job.lua
return job {
  model = "llama3-8b",
  data = "synthetic",
  train = { batch = "32 sequences", context = 4096, steps = 10 },
  optimizer = { "adamw", lr = 1e-4 },
  cluster = { "dgx-h100", nodes = 2, intra_latency = "2s" },
}
-- >>> exit 1
job.lua:6:54: error[unit]: cluster.intra_latency: expected a latency such as
    "5us" or "800ns"; got "2s"
    6 |   cluster = { "dgx-h100", nodes = 2, intra_latency = "2s" },
      |                                                      ^~~~
