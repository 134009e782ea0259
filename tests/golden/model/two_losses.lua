return model {
  sizes = { inputs = 8, rate = 2 },
  forward = function(m)
    local x = input("x", { "batch", "inputs" })
    local h = linear("a", x, "inputs")
    local first = mse(h, x, { name = "fit" })
    local second = mse(relu(h), x, { name = "fit" })
    local third = mse(tanh(h), x, { name = "a fit" })
    return relu(first) + first * first + (first + 1) + first / 0 + (h - first)
  end,
}
-- >>> expected
-- two_losses.lua:7:20: error[duplicate-loss]: mse: there are two losses named
--     'fit'
--     7 |     local second = mse(relu(h), x, { name = "fit" })
--       |                    ^~~
--     two_losses.lua:6:19: note: the other is here
-- two_losses.lua:8:19: error[wrong-option]: mse: name is a name: letters, digits,
--     _ - and dots between, 32 at most; got the text "a fit"
--     8 |     local third = mse(tanh(h), x, { name = "a fit" })
--       |                   ^~~
-- two_losses.lua:9:12: error[loss-used]: relu: argument 1 is a loss; forward
--     returns a sum of losses, and nothing else is computed from them
--     9 |     return relu(first) + first * first + (first + 1) + first / 0 + (h - first)
--       |            ^~~~
-- two_losses.lua:9:24: error[loss-used]: add: losses are added and multiplied by
--     numbers; got the number 1
--     9 |     return relu(first) + first * first + (first + 1) + first / 0 + (h - first)
--       |                        ^
--         fix: loss + 0.1 * other
-- two_losses.lua:9:32: error[loss-used]: multiply: losses are added and multiplied
--     by numbers; got a loss
--     9 |     return relu(first) + first * first + (first + 1) + first / 0 + (h - first)
--       |                                ^
--         fix: loss + 0.1 * other
-- two_losses.lua:9:62: error[wrong-number]: divide: the weight of a loss is finite
--     in fp32; got inf
--     9 |  + first * first + (first + 1) + first / 0 + (h - first)
--       |                                        ^
-- two_losses.lua:9:71: error[loss-used]: subtract: losses are added and multiplied
--     by numbers; got the value [batch, inputs]
--     9 | * first + (first + 1) + first / 0 + (h - first)
--       |                                        ^
--         fix: loss + 0.1 * other
