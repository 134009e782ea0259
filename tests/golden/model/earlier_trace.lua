-- A value kept in an upvalue: the second trace must not see it.
local kept
return model {
  sizes = { inputs = 8 },
  forward = function(m)
    local x = input("x", { "batch", "inputs" })
    local h = linear("a", x, "inputs")
    kept = kept or h
    return mse(h + kept, x)
  end,
}
-- >>> expected
-- earlier_trace.lua:9:18: error[not-a-value]: add: argument 2 is a value; got one
--     kept from an earlier run of forward
--     9 |     return mse(h + kept, x)
--       |                  ^
