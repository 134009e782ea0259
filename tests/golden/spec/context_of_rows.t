-- RUN: check job.lua
return job {
  model = "./rows.lua",
  data = "synthetic",
  train = { batch = "4 sequences", context = 8, steps = 10 },
  optimizer = { "sgd", lr = 0.1 },
}
-- FILE: rows.lua
return model {
  sizes = { inputs = 2, outputs = 1 },
  forward = function(m)
    return mse(linear("o", input("x", { "batch", "inputs" }), "outputs"), input("y", { "batch", "outputs" }))
  end,
}
-- >>> exit 1
rows.lua:4:12: error[loss-shape]: mse: [batch, outputs] is one value a sample,
    and a sample of this job is a sequence of 8 tokens
    4 |     return mse(linear("o", input("x", { "batch", "inputs" }), "outputs"), input("y", { "ba
      |            ^~~
    job.lua:4:46: note: samples without tokens: batch = "64 samples", and no
    context
