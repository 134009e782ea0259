return model {
  sizes = { inputs = 4, outputs = 1, width = 16 },
  bias = true,
  forward = function(m)
    local x, y = input("x", { "batch", "inputs" }), input("y", { "batch", "outputs" })
    local w = weight("fc.weight", { "width", "inputs" })
    return mse(linear("last", linear("fc", x, "width") + linear(w, x), "outputs"), y)
  end,
}
-- >>> expected
-- name_clash_weight.lua:7:16: error[duplicate-parameter]: parameter 'fc.weight' is
--     made twice; to share it, make it with weight() and pass the handle
--     7 |     return mse(linear("last", linear("fc", x, "width") + linear(w, x), "outputs"), y)
--       |                ^~~~~~
--     name_clash_weight.lua:6:15: note: it is made here first
