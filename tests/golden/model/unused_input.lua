return model {
  sizes = { inputs = 8 },
  forward = function(m)
    local x, y = input("x", { "batch", "inputs" }), input("y", { "batch", "inputs" })
    return mse(linear("a", x, "inputs"), x)
  end,
}
-- >>> expected
-- 64 parameters
-- begin x 1:
--     linear a [batch, inputs]
--     mse mse
-- unused_input.lua:4:18: lint[unused-value]: input 'y' is read and not used
--     4 |     local x, y = input("x", { "batch", "inputs" }), input("y", { "batch", "inputs" })
--       |                  ^~~~~
