-- One block again and again with the same weights: a loop in Lua, not a stack.
return model {
  sizes = { layers = 12, inputs = 4, width = 16, hidden = 32 },
  axes = { hidden = "tp" },

  forward = function(m)
    local x = linear("first", input("x", { "batch", "inputs" }), "width")
    local y = input("y", { "batch", "inputs" })
    local up, down = weight("up", { "hidden", "width" }), weight("down", { "width", "hidden" })
    for i = 1, m.layers do
      x = x + linear(down, gelu(linear(up, rmsnorm("norm" .. i, x))))
    end
    return mse(linear("last", x, "inputs"), y)
  end,
}
-- >>> expected
-- pp 2: stages: a model of 1 piece (its layers and ends) cannot be cut into 2 stages
