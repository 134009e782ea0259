return model {
  sizes = { inputs = 4, outputs = 1, width = 16 },
  forward = function(m)
    local x, y = input("my x", { "batch", "inputs" }), input("y", { "batch", "outputs" })
    return mse(linear("my layer", relu(linear("h.*.fc", x, "width")), "outputs"), y)
  end,
}
-- >>> expected
-- name_spaces.lua:4:18: error[not-a-name]: input: 'my x' is not a name: letters,
--     digits, _ - and dots between, 200 bytes at most
--     4 |     local x, y = input("my x", { "batch", "inputs" }), input("y", { "batch", "outputs" })
--       |                  ^~~~~
