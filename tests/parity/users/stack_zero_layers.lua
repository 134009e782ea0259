return model {
  sizes = { inputs = 8, layers = 0 },
  forward = function(m)
    local x, y = input("x", { "batch", "inputs" }), input("y", { "batch", "inputs" })
    return mse(linear("z", stack("h", m.layers, x, function(x) return x + relu(linear("a", x, "inputs")) end), "inputs"), y)
  end,
}
-- >>> expected
-- stack_zero_layers.lua:5:28: error[wrong-size]: stack: argument 2 is how many
--     layers, 1 to 1,000,000; got the number 0
--     5 |     return mse(linear("z", stack("h", m.layers, x, function(x) return x + relu(linear("a",
--       |                            ^~~~~
