return model {
  sizes = { inputs = 8, hidden = 64 },
  forward = function(m)
    local x = input("x", { "batch", "inputs" })
    return mse(linear("a", x, "hiden"), x)
  end,
}
-- >>> expected
-- unknown_dimension.lua:5:16: error[unknown-dimension]: linear: no dimension
--     'hiden'; did you mean 'hidden'?
--     5 |     return mse(linear("a", x, "hiden"), x)
--       |                ^~~~~~
--         fix: "hidden"
