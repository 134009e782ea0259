return model {
  sizes = { inputs = 8 },
  forward = function(m)
    local x = input("x", { "batch", "inputs" })
    local h = linear("a", x, "inputs")
    local left = relu(h) + h
    return mse(h, x)
  end,
}
-- >>> expected
-- 64 parameters
-- begin x 1:
--     linear a [batch, inputs]
--     mse mse
-- unused_value.lua:6:18: lint[unused-value]: relu: nothing uses this result; it
--     is left out
--     6 |     local left = relu(h) + h
--       |                  ^~~~
-- unused_value.lua:6:26: lint[unused-value]: add: nothing uses this result; it is
--     left out
--     6 |     local left = relu(h) + h
--       |                          ^
