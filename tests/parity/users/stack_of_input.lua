return model {
  sizes = { inputs = 8, layers = 2 },
  forward = function(m)
    local x, y = input("x", { "batch", "inputs" }), input("y", { "batch", "inputs" })
    return mse(stack("h", m.layers, x, function(x) return x + relu(linear("a", x, "inputs")) end), y)
  end,
}
-- >>> expected
