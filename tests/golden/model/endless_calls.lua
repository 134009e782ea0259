return model {
  sizes = { inputs = 8 },
  forward = function(m)
    local x = input("x", { "batch", "inputs" })
    while true do x = gelu(x) end
  end,
}
-- >>> expected
-- endless_calls.lua:5:23: error[limit]: forward makes more than 100000 calls: a
--     Lua loop is unrolled, a stack is traced once
--     5 |     while true do x = gelu(x) end
--       |                       ^~~~
--         fix: stack("name", n, x, function(x) ... end)
