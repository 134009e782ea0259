-- job: inputs = 8
return model {
  sizes = { inputs = required, hidden = 64, out = 1 },
  forward = function(m)
    local x, y = input("x", { "batch", "inputs" }), input("y", { "batch", "out" })
    local h = relu(linear("a", x, "hidden"))
    return mse(linear("b", h + x, "out"), y)
  end,
}
-- >>> expected
-- dimension_mismatch.lua:7:30: error[dimension-mismatch]: add: [batch, hidden] and
--     [batch, inputs]: 'hidden' is missing on the other side; names must match
--     7 |     return mse(linear("b", h + x, "out"), y)
--       |                              ^
--         fix: bring one side over first: linear("skip", x, "hidden")
--     dimension_mismatch.lua:6:15: note: [batch, hidden] is made here
--     dimension_mismatch.lua:5:18: note: [batch, inputs] is made here
