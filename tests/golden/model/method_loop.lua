-- The same mistake in every turn of a loop is one mistake.
return model {
  sizes = { width = 8 },
  forward = function(m)
    local x = input("x", { "batch", "width" })
    for _, row in ipairs(x) do x = linear("a", row, "width") end
    return mse(x, x)
  end,
}
-- >>> expected
-- method_loop.lua:6:5: error[no-operator]: values have + - * and / by a number,
--     and no '.'
--     6 |     for _, row in ipairs(x) do x = linear("a", row, "width") end
--       |     ^
