return model {
  sizes = { inputs = 8 },
  forward = function(m)
    local x = input("x", { "batch", "inputs" })
    if linear("a", x, "inputs") > x then return mse(x, x) end
  end,
}
-- >>> expected
-- comparison.lua:5:5: error[no-operator]: values have no numbers while the model
--     is read, so they cannot be compared
--     5 |     if linear("a", x, "inputs") > x then return mse(x, x) end
--       |     ^
