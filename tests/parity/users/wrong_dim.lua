return model {
  sizes = { inputs = 4, outputs = 1, width = 16 },
  forward = function(m)
    local x, y = input("x", { "batch", "input" }), input("y", { "batch", "outputs" })
    return mse(linear("last", x, "widht"), y)
  end,
}
-- >>> expected
-- wrong_dim.lua:4:18: error[unknown-dimension]: input: no dimension 'input'; did
--     you mean 'inputs'?
--     4 |     local x, y = input("x", { "batch", "input" }), input("y", { "batch", "outputs" })
--       |                  ^~~~~
--         fix: "inputs"
