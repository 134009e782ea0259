return model {
  sizes = { inputs = 8, layers = 2 },
  forward = function(m)
    local x, y = input("x", { "batch", "inputs" }), input("y", { "batch", "inputs" })
    return mse(stack("h", x, m.layers, function(x) return x + relu(linear("a", x, "inputs")) end), y)
  end,
}
-- >>> expected
-- stack_table.lua:5:16: error[wrong-size]: stack: argument 2 is how many layers, 1
--     to 1,000,000; got the value [batch, inputs]
--     5 |     return mse(stack("h", x, m.layers, function(x) return x + relu(linear("a", x, "inputs"
--       |                ^~~~~
