return model {
  sizes = { inputs = 4, outputs = 1, width = 16 },
  forward = function(m)
    local x, y = input("x", { "batch", "inputs" }), input("y", { "batch", "outputs" })
    return mse(linear(x, "outputs"), y)
  end,
}
-- >>> expected
-- name_absent.lua:5:16: error[not-a-value]: linear: argument 2 is a value; got the
--     text "outputs"
--     5 |     return mse(linear(x, "outputs"), y)
--       |                ^~~~~~
