-- RUN: explain job.lua data.columns --no-data -D 'data={"table", train={"a.csv", "b.csv"}, columns={x={"area"}}}' -D data.columns.y=price -D 'data.columns.x={"rooms", "area"}'
return job {
  model = "./mlp.lua",
  data = "synthetic",
  train = { batch = "64 samples", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- FILE: mlp.lua
return model { sizes = { inputs = 2, outputs = 1 }, forward = function(m) return mse(linear("w", input("x", { "batch", "inputs" }), "outputs"), input("y", { "batch", "outputs" })) end }
-- >>> exit 0
data.columns           x: rooms area; y: price -D data.columns.x={"rooms",
                                               "area"}
