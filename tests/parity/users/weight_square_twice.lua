return model {
  sizes = { inputs = 4, outputs = 1, width = 16 },
  forward = function(m)
    local x, y = input("x", { "batch", "inputs" }), input("y", { "batch", "outputs" })
    local w = weight("w", { "width", "width" })
    return mse(linear("last", linear("first", x, "width"), "outputs"), y)
  end,
}
-- >>> expected
-- weight_square_twice.lua:5:15: error[repeated-dimension]: weight: 'width' is
--     twice in one list
--     5 |     local w = weight("w", { "width", "width" })
--       |               ^~~~~~
