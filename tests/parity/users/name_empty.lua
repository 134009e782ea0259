return model {
  sizes = { inputs = 4, outputs = 1, width = 16 },
  forward = function(m)
    local x, y = input("", { "batch", "inputs" }), input("y", { "batch", "outputs" })
    return mse(linear("", x, "outputs"), y)
  end,
}
-- >>> expected
-- name_empty.lua:4:18: error[not-a-name]: input: '' is not a name: letters,
--     digits, _ - and dots between, 200 bytes at most
--     4 |     local x, y = input("", { "batch", "inputs" }), input("y", { "batch", "outputs" })
--       |                  ^~~~~
