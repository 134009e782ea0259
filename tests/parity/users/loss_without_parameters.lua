return model {
  sizes = { inputs = 8 },
  forward = function(m)
    local x, y = input("x", { "batch", "inputs" }), input("y", { "batch", "inputs" })
    return mse(relu(x), y)
  end,
}
-- >>> expected
-- loss_without_parameters.lua:5:12: error[no-parameters]: the model has no
--     parameters: there is nothing to train
--     5 |     return mse(relu(x), y)
--       |            ^~~
