return model {
  sizes = { inputs = 8, width = 4 },
  forward = function(m)
    local x = input("x", { "batch", "inputs" })
    local h = linear("a", x, "width")
    return mse(h, h)
  end,
}
-- >>> expected
-- pp 2: stages: a model of 1 piece (its layers and ends) cannot be cut into 2 stages
