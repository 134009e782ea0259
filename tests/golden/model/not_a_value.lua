return model {
  sizes = { inputs = 8 },
  forward = function(m)
    local x = input("x", { "batch", "inputs" })
    local w = weight("w", { "inputs" })
    gelu("x")
    silu(nil)
    relu(w)
    tanh(3)
    local h = linear("a", "x", "inputs")
    local i = layernorm(x, "norm")
    return mse(linear(x, "b", "inputs") + w, x)
  end,
}
-- >>> expected
-- not_a_value.lua:6:5: error[not-a-value]: gelu: argument 1 is a value; got the
--     text "x"
--     6 |     gelu("x")
--       |     ^~~~
--         fix: gelu(x)
-- not_a_value.lua:7:5: error[not-a-value]: silu: argument 1 is a value; got nil
--     7 |     silu(nil)
--       |     ^~~~
-- not_a_value.lua:8:5: error[not-a-value]: relu: argument 1 is a value; got the
--     weight 'w'
--     8 |     relu(w)
--       |     ^~~~
--         fix: linear(handle, x), embedding(handle, ids) or x * handle
-- not_a_value.lua:9:5: error[not-a-value]: tanh: argument 1 is a value; got the
--     number 3
--     9 |     tanh(3)
--       |     ^~~~
-- not_a_value.lua:10:15: error[not-a-value]: linear: argument 2 is a value; got
--     the text "x"
--    10 |     local h = linear("a", "x", "inputs")
--       |               ^~~~~~
-- not_a_value.lua:11:15: error[not-a-value]: layernorm: argument 2 is a value; got
--     the text "norm"
--    11 |     local i = layernorm(x, "norm")
--       |               ^~~~~~~~~
-- not_a_value.lua:12:16: error[not-a-value]: linear: argument 2 is a value; got
--     the text "b"
--    12 |     return mse(linear(x, "b", "inputs") + w, x)
--       |                ^~~~~~
