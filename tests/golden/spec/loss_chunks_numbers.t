-- FILE: mlp.lua
return model {
  sizes = { inputs = required, outputs = 1, width = 64 },
  forward = function(m)
    local x = input("x", { "batch", "inputs" })
    local y = input("y", { "batch", "outputs" })
    return mse(linear("last", relu(linear("first", x, "width")), "outputs"), y)
  end,
}
-- FILE: job.lua
return job {
  model = { "./mlp.lua", inputs = 3 },
  data = "synthetic",
  train = { batch = "8 samples", microbatch = 8, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  memory = { loss_chunks = 2 },
}
-- >>> exit 1
job.lua:6:28: error[loss-chunks]: memory.loss_chunks: the model does not end in
    a linear layer and cross_entropy
    6 |   memory = { loss_chunks = 2 },
      |                            ^
        fix: remove loss_chunks
