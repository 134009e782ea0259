return model {
  sizes = { inputs = 8 },
  forward = function(m)
    local x = input("x", { "batch", "inputs" })
    return 0.5 * mse(linear("a", x, "inputs"), x)
  end,
}
-- >>> expected
-- 64 parameters
-- begin x 1:
--     linear a [batch, inputs]
--     mse mse
