return model {
  sizes = { inputs = 4, width = 16 },
  forward = function(m)
    local x, y = input("x", { "batch", "inputs" }), input("y", { "batch" })
    return mse(linear("last", relu(linear("first", x, "width")), {}), y)
  end,
}
-- >>> expected
-- column_vector.lua:5:16: error[not-a-name]: linear: argument 3 names dimensions,
--     e.g. "width" or { "heads", "head" }; got the table {}
--     5 |     return mse(linear("last", relu(linear("first", x, "width")), {}), y)
--       |                ^~~~~~
