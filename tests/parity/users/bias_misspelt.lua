return model {
  sizes = { inputs = 4, outputs = 1, width = 16 },
  forward = function(m)
    local x, y = input("x", { "batch", "inputs" }), input("y", { "batch", "outputs" })
    local h = relu(linear("first", x, "width", { biass = false, dtype = "fp16" }))
    return mse(linear("last", h, "outputs", { bias = 1 }), y)
  end,
}
-- >>> expected
-- bias_misspelt.lua:5:20: error[unknown-option]: linear: no option 'biass'; it has
--     bias, init
--     5 |     local h = relu(linear("first", x, "width", { biass = false, dtype = "fp16" }))
--       |                    ^~~~~~
--         fix: bias = ...
-- bias_misspelt.lua:5:20: error[unknown-option]: linear: no option 'dtype'; it has
--     bias, init
--     5 |     local h = relu(linear("first", x, "width", { biass = false, dtype = "fp16" }))
--       |                    ^~~~~~
