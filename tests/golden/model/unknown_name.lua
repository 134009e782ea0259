return model {
  sizes = { inputs = 8 },
  forward = function(m)
    local x = input("x", { "batch", "inputs" })
    return mse(liner("a", x, "inputs"), x)
  end,
}
-- >>> expected
-- unknown_name.lua:5:16: error[unknown-name]: nothing is named 'liner' here;
--     did you mean 'linear'?
--     5 |     return mse(liner("a", x, "inputs"), x)
--       |                ^~~~~
--         fix: linear
