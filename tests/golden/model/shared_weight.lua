return model {
  sizes = { inputs = 8, hidden = 4, other = 2 },
  forward = function(m)
    local x = input("x", { "batch", "inputs" })
    local w = weight("w", { "hidden", "inputs" })
    local h = linear(w, x)
    local back = linear(w, h, "inputs")
    local bad = linear(w, linear("o", x, "other"))
    local said = linear(w, x, "other")
    return mse(linear(w, h, "inputs", { bias = true }), x)
  end,
}
-- >>> expected
-- shared_weight.lua:8:17: error[nothing-to-contract]: linear: weight 'w' is
--     [hidden, inputs], the value has features [other]: nothing to contract
--     8 |     local bad = linear(w, linear("o", x, "other"))
--       |                 ^~~~~~
-- shared_weight.lua:9:18: error[missing-output]: linear: weight 'w' makes
--     [hidden], not [other]
--     9 |     local said = linear(w, x, "other")
--       |                  ^~~~~~
-- shared_weight.lua:10:16: error[wrong-option]: linear: the bias has no name where
--     the weight is shared: x + weight(NAME, DIMS) adds one
--    10 |     return mse(linear(w, h, "inputs", { bias = true }), x)
--       |                ^~~~~~
