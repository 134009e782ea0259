return model {
  sizes = { inputs = 4, outputs = 1, width = 16 },
  forward = function(m)
    local x, y = input("x", { "batch", "inputs" }), input("y", { "batch", "outputs" })
    local s = weight("scale", "inputs")
    return mse(linear("last", x * s, "outputs"), y)
  end,
}
-- >>> expected
-- weight_added.lua:6:33: error[not-a-value]: multiply: argument 2 is a value; got
--     the weight 'scale'
--     6 |     return mse(linear("last", x * s, "outputs"), y)
--       |                                 ^
--         fix: linear(handle, x) or embedding(handle, ids)
