-- A Lua loop is unrolled: nodes of their own, names that the file makes.
return model {
  sizes = { inputs = 8 },
  forward = function(m)
    local x = input("x", { "batch", "inputs" })
    local h = x
    for i = 1, 3 do h = h + linear(string.format("layer.%d", i), relu(h), "inputs") end
    return mse(h - 1, x)
  end,
}
-- >>> expected
-- 192 parameters
-- begin x 1:
--     relu relu [batch, inputs]
--     linear layer.1 [batch, inputs]
--     add add [batch, inputs]
--     relu relu.2 [batch, inputs]
--     linear layer.2 [batch, inputs]
--     add add.2 [batch, inputs]
--     relu relu.3 [batch, inputs]
--     linear layer.3 [batch, inputs]
--     add add.3 [batch, inputs]
--     affine affine [batch, inputs]
--     mse mse
