return model {
  sizes = { inputs = 4, outputs = 1, width = 16 },
  forward = function(m)
    local x, y = input("x", { "batch", "inputs" }), input("x", { "batch", "outputs" })
    return mse(linear("fc", relu(linear("fc", x, "width")), "outputs"), y)
  end,
}
-- >>> expected
-- name_twice.lua:4:18: error[duplicate-input]: input: there are two named 'x'
--     4 |     local x, y = input("x", { "batch", "inputs" }), input("x", { "batch", "outputs" })
--       |                  ^~~~~
-- name_twice.lua:5:16: error[duplicate-parameter]: parameter 'fc.weight' is made
--     twice; to share it, make it with weight() and pass the handle
--     5 |     return mse(linear("fc", relu(linear("fc", x, "width")), "outputs"), y)
--       |                ^~~~~~
--     name_twice.lua:5:16: note: it is made here first
