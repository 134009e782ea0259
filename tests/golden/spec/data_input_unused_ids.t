-- RUN: check job.lua
return job {
  model = "./m.lua",
  data = "synthetic",
  train = { batch = "8 samples", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- FILE: m.lua
return model {
  sizes = { inputs = 3 },
  forward = function(m)
    local kind = input("kind", { "batch" }, "ids")
    local x = input("x", { "batch", "inputs" })
    return mse(linear("a", x, "inputs"), x)
  end,
}
-- >>> exit 1
m.lua:4:18: error[data]: input 'kind' cannot be filled: its ids are looked up
    nowhere, so nothing says how many there are
    4 |     local kind = input("kind", { "batch" }, "ids")
      |                  ^~~~~
m.lua:4:18: lint[unused-value]: input 'kind' is read and not used
    4 |     local kind = input("kind", { "batch" }, "ids")
      |                  ^~~~~
