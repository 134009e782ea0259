return model {
  sizes = { inputs = 8, heads = 2, head = 4 },
  forward = function(m)
    local x = input("x", { "batch", "inputs" })
    local q = linear("q", x, { "heads", "head" })
    local a = rmsnorm("a", q, { over = "heads" })
    local b = rmsnorm("b", q, { over = "inputs" })
    local c = rmsnorm("c", q, { over = "head", offset = 2 })
    local d = layernorm("d", q, { over = "head", offset = 1 })
    local w = weight("w", "head")
    local e = w * weight("v", "head")
    local f = w * 2
    local g = x * w
    return mse(linear("e", d * w, "inputs"), x)
  end,
}
-- >>> expected
-- norm_over.lua:6:15: error[wrong-option]: rmsnorm: over is the last dimension of
--     [batch, heads, head]; got 'heads'
--     6 |     local a = rmsnorm("a", q, { over = "heads" })
--       |               ^~~~~~~
--         fix: over = "head"
-- norm_over.lua:7:15: error[no-dimension]: rmsnorm: [batch, heads, head] has no
--     dimension 'inputs'
--     7 |     local b = rmsnorm("b", q, { over = "inputs" })
--       |               ^~~~~~~
-- norm_over.lua:8:15: error[wrong-option]: rmsnorm: offset is 0, or 1 where
--     weights are kept as differences from 1; got 2
--     8 |     local c = rmsnorm("c", q, { over = "head", offset = 2 })
--       |               ^~~~~~~
--         fix: offset = 1
-- norm_over.lua:11:17: error[not-a-value]: multiply: argument 1 is a value; got
--     the weight 'w'
--    11 |     local e = w * weight("v", "head")
--       |                 ^
--         fix: linear(handle, x), embedding(handle, ids) or x * handle
-- norm_over.lua:11:17: error[not-a-value]: multiply: argument 2 is a value; got
--     the weight 'v'
--    11 |     local e = w * weight("v", "head")
--       |                 ^
--         fix: linear(handle, x), embedding(handle, ids) or x * handle
-- norm_over.lua:12:17: error[not-a-value]: multiply: argument 1 is a value; got
--     the weight 'w'
--    12 |     local f = w * 2
--       |                 ^
--         fix: linear(handle, x), embedding(handle, ids) or x * handle
-- norm_over.lua:13:17: error[dimension-mismatch]: multiply: [batch, inputs] and
--     [head]: 'head' is missing on the other side; names must match
--    13 |     local g = x * w
--       |                 ^
--         fix: bring one side over first: linear("skip", x, "inputs")
--     norm_over.lua:4:15: note: [batch, inputs] is made here
