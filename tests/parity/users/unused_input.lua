return model {
  sizes = { inputs = 4, outputs = 1, width = 16 },
  forward = function(m)
    local x, y = input("x", { "batch", "inputs" }), input("y", { "batch", "outputs" })
    local z = input("z", { "batch", "width" })
    return mse(linear("last", x, "outputs"), y)
  end,
}
-- >>> expected
-- unused_input.lua:5:15: lint[unused-value]: input 'z' is read and not used
--     5 |     local z = input("z", { "batch", "width" })
--       |               ^~~~~
-- pp 2: stages: a model of 1 piece (its layers and ends) cannot be cut into 2 stages
