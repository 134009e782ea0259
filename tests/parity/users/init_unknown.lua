return model {
  sizes = { inputs = 4, outputs = 1, width = 16 },
  init = { "normal", sd = 0.02 },
  forward = function(m)
    local x, y = input("x", { "batch", "inputs" }), input("y", { "batch", "outputs" })
    local h = linear("a", x, "width", { init = "xavier" })
    h = linear("b", h, "width", { init = { "normal", mu = 0, 3 } })
    h = linear("c", h, "width", { init = { "kaiming_uniform", a = 5 } })
    h = linear("d", h, "width", { init = { "normal", std = -1 } })
    return mse(linear("last", h, "outputs"), y)
  end,
}
-- >>> expected
-- init_unknown.lua:3:3: error[wrong-option]: init: 'normal' has no 'sd'; it has
--     mean, std
--     3 |   init = { "normal", sd = 0.02 },
--       |   ^~~~
