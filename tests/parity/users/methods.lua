return model {
  sizes = { inputs = 4, outputs = 1 },
  forward = function(m)
    local x, y = input("x", { "batch", "inputs" }), input("y", { "batch", "outputs" })
    return mse(linear("last", x:relu(), "outputs"), y)
  end,
}
-- >>> expected
-- methods.lua:5:5: error[no-operator]: values have + - * and / by a number, and no
--     '.'
--     5 |     return mse(linear("last", x:relu(), "outputs"), y)
--       |     ^
