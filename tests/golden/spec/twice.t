-- RUN: compile job.lua -q
return job {
  model     = { "./own.lua", inputs = 1 },
  data      = { "table", train = "t.csv", columns = { x = { "a" }, y = { "b" } } },
  train     = { batch = "4 samples", microbatch = 2, steps = 2 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = "fp32",
}
-- FILE: t.csv
a,b
1,2
2,3
3,4
4,5
-- FILE: own.lua
return model {
  sizes = { inputs = required, outputs = 1, width = 8 },
  bias = true,
  forward = function(m)
    local x = input("x", { "batch", "inputs" })
    local y = input("y", { "batch", "outputs" })
    local h = linear("first", x, "width")
    local k = h
    for i = 1, 3 do k = k + h end
    for i = 1, 3 do k = k + h * h end
    for i = 1, 2 do k = k + relu(h) end
    h = stack("blocks", 2, k, function(h)
      return h + gelu(h) + gelu(h) + (h + h) + (h + h)
    end)
    return mse(linear("last", h, "outputs"), y)
  end,
}
-- >>> exit 0
