-- FILE: bare.lua
return model {
  sizes = { vocab = 64, width = 32, layers = 2 },
  forward = function(m)
    local tokens = input("tokens", { "batch", "seq" }, "ids")
    local targets = input("targets", { "batch", "seq" }, "ids")
    local h = embedding("wte", tokens, { "vocab", "width" })
    h = stack("h", m.layers, h, function(h) return h + linear("fc", relu(h), "width") end)
    return cross_entropy(linear("head", h, "vocab"), targets)
  end,
}
-- FILE: job.lua
return job {
  model = "./bare.lua",
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, context = 16, steps = 3 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "here", devices = 2 },
  parallel = { pp = 2 },
  memory = { loss_chunks = 4 },
}
-- >>> exit 0
job.lua:7:21: lint[bubble]: stages idle 20.0 % of a step: (pp-1) / (m + pp-1)
    with m = 4 micro-batches
    7 |   parallel = { pp = 2 },
      |                     ^
        fix: batch = "18 sequences"
    note: m = 4: at most 20 %; m = 9: at most 10 %
job.lua:7:21: lint[imbalance]: the heaviest stage has 50 % more work than the
    mean, and the others wait for it (`explain --schedule` says why)
    7 |   parallel = { pp = 2 },
      |                     ^
job.lua: right
