return model {
  sizes = { inputs = 4, outputs = 1, width = 16 },
  forward = function(m)
    local x, y = input("x", { "batch", "inputs" }), input("y", { "batch", "outputs" })
    return mse(linear("last", linear("first", x, m.width), m.outputs), y)
  end,
}
-- >>> expected
-- size_in_place_of_name.lua:5:16: error[not-a-name]: linear: argument 3 names
--     dimensions, e.g. "width" or { "heads", "head" }; got the number 16
--     5 |     return mse(linear("last", linear("first", x, m.width), m.outputs), y)
--       |                ^~~~~~
