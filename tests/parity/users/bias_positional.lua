return model {
  sizes = { inputs = 4, outputs = 1, width = 16 },
  forward = function(m)
    local x, y = input("x", { "batch", "inputs" }), input("y", { "batch", "outputs" })
    local h = relu(linear("first", x, "width", false))
    return mse(linear("last", h, "outputs", { "bias" }), y)
  end,
}
-- >>> expected
-- bias_positional.lua:5:20: error[not-options]: linear: argument 4 holds options,
--     { bias = ... }; got false
--     5 |     local h = relu(linear("first", x, "width", false))
--       |                    ^~~~~~
