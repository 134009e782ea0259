-- Numbers beside values: scaled and shifted, nothing else.
return model {
  sizes = { inputs = 8 },
  forward = function(m)
    local x = input("x", { "batch", "inputs" })
    local h = linear("a", x, "inputs")
    return mse(-(1 - h * 2 + 3) / 4 - 0.5 * h, x)
  end,
}
-- >>> expected
-- 64 parameters
-- begin x 1:
--     linear a [batch, inputs]
--     affine affine [batch, inputs]
--     affine affine.2 [batch, inputs]
--     affine affine.3 [batch, inputs]
--     affine affine.4 [batch, inputs]
--     affine affine.5 [batch, inputs]
--     affine affine.6 [batch, inputs]
--     subtract subtract [batch, inputs]
--     mse mse
