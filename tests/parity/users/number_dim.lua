return model {
  sizes = { inputs = 4, outputs = 1, width = 16 },
  forward = function(m)
    local x, y = input("x", { "batch", 4 }), input("y", { "batch", "outputs" })
    return mse(linear("last", x, 16), y)
  end,
}
-- >>> expected
-- number_dim.lua:4:18: error[not-a-name]: input: argument 2 names dimensions, e.g.
--     "width" or { "heads", "head" }; got a table
--     4 |     local x, y = input("x", { "batch", 4 }), input("y", { "batch", "outputs" })
--       |                  ^~~~~
