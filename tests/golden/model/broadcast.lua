-- Names decide: one side has all of the other's, in any order.
return model {
  sizes = { inputs = 8, groups = 2 },
  forward = function(m)
    local x, w = input("x", { "batch", "inputs" }), input("w", { "batch" })
    local wide = linear("wide", x, { "groups", "inputs" })
    local h = w * wide - x
    return mse(x - linear("narrow", x - wide * h, "inputs"), x)
  end,
}
-- >>> expected
-- 256 parameters
-- begin x 1:
--     linear wide [batch, groups, inputs]
--     multiply multiply [batch, groups, inputs]
--     subtract subtract [batch, groups, inputs]
--     multiply multiply.2 [batch, groups, inputs]
--     affine affine [batch, groups, inputs]
--     add subtract.2 [batch, groups, inputs]
--     linear narrow [batch, inputs]
--     subtract subtract.3 [batch, inputs]
--     mse mse
