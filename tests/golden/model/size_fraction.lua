return model {
  sizes = { width = 10, head = function(m) return m.width / 4 end },
  forward = function(m)
    local x = input("x", { "batch", "width" })
    return mse(linear("a", x, "head"), x)
  end,
}
-- >>> expected
-- size_fraction.lua:5:16: error[wrong-size]: linear: a dimension has a whole size
--     of 1 or more; head = 2.5
--     5 |     return mse(linear("a", x, "head"), x)
--       |                ^~~~~~
