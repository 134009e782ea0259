return job {
  model = "./m.lua",
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- FILE: m.lua
return model {
  sizes = { width = 8, vocab = 16 },
  forward = function(m)
    local t, y = input("tokens", { "batch", "seq" }, "ids"), input("targets", { "batch", "seq" }, "ids")
    return cross_entropy(linear("head", embedding("e", t, { "vocab", "width" }), "vocab"), y)
  end,
}
-- >>> exit 1
job.lua: error[missing-key]: train.context is missing: this model has no
    positions to take it from
        fix: context = 1024
