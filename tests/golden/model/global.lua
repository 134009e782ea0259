return model {
  sizes = { inputs = 8 },
  forward = function(m)
    x = input("x", { "batch", "inputs" })
    return mse(linear("a", x, "inputs"), x)
  end,
}
-- >>> expected
-- global.lua:4:5: error[global]: a job or model file sets no globals: 'x' needs
--     'local'
--     4 |     x = input("x", { "batch", "inputs" })
--       |     ^
--         fix: local x = ...
