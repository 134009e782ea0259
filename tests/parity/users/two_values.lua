return model {
  sizes = { inputs = 4, outputs = 1, width = 16 },
  forward = function(m)
    local x, y = input("x", { "batch", "inputs" }), input("y", { "batch", "outputs" })
    local p = linear("last", x, "outputs")
    return mse(p, y), p
  end,
}
-- >>> expected
-- two_values.lua:3:3: error[no-loss]: forward returns the loss, e.g. return
--     cross_entropy(logits, targets); it returns several values
--     3 |   forward = function(m)
--       |   ^~~~~~~
--     two_values.lua:6:12: note: a loss is made here
