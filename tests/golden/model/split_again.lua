-- A part may be split again: it is made dense first, because parts are views of a whole value.
return model {
  sizes = { inputs = 8, two = 2, three = 3, width = 4 },
  forward = function(m)
    local x, y = input("x", { "batch", "inputs" }), input("y", { "batch", "width" })
    local a, b = split(linear("t", x, { "two", "three", "width" }), "two")
    local a1, a2, a3 = split(a, "three")
    local b1, b2, b3 = split(b, "three")
    return mse(a1 * b3 + a2 * b2 - tanh(a3) * b1, y)
  end,
}
-- >>> expected
-- 192 parameters
-- begin x 1:
--     linear t [batch, two, three, width]
--     split split [batch, three, width]
--     copy copy [batch, three, width]
--     split split.2 [batch, width]
--     copy copy.2 [batch, three, width]
--     split split.3 [batch, width]
--     copy multiply [batch, width]
--     copy multiply [batch, width]
--     multiply multiply [batch, width]
--     copy multiply.2 [batch, width]
--     copy multiply.2 [batch, width]
--     multiply multiply.2 [batch, width]
--     add add [batch, width]
--     copy tanh [batch, width]
--     tanh tanh [batch, width]
--     copy multiply.3 [batch, width]
--     multiply multiply.3 [batch, width]
--     subtract subtract [batch, width]
--     mse mse
