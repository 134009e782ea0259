return model {
  sizes = { inputs = 4, outputs = 1 },
  forward = function(m)
    local x, y = input("x", { "batch", "inputs" }), input("y", { "batch", "outputs" })
    if x > 0 then x = -x end
    return mse(linear("last", x, "outputs"), y)
  end,
}
-- >>> expected
-- comparison.lua:5:5: error[no-operator]: values have no numbers while the model
--     is read, so they cannot be compared
--     5 |     if x > 0 then x = -x end
--       |     ^
