-- RUN: check job.lua
return job {
  model = { "gpt2", layers = 4, width = 64, heads = 4, vocab = 64, positions = 16 },
  data = "synthetic",
  train = { batch = "8 sequences", steps = 10, microbatch = 1 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "dgx-h100", nodes = 2, devices = 4 },
  parallel = { tp = 2, order = "dp*3 tp cp pp dp" },
}
-- >>> exit 1
job.lua:7:32: error[order]: a part of "dp*3 tp cp pp dp" does not divide its
    axis: tp 2, cp 1, pp 1, dp 4
    7 |   parallel = { tp = 2, order = "dp*3 tp cp pp dp" },
      |                                ^~~~~~~~~~~~~~~~~~
        fix: order = "tp cp pp dp"
