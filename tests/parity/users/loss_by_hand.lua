return model {
  sizes = { inputs = 4, outputs = 1 },
  forward = function(m)
    local x, y = input("x", { "batch", "inputs" }), input("y", { "batch", "outputs" })
    local d = linear("a", x, "outputs") - y
    return d * d
  end,
}
-- >>> expected
-- loss_by_hand.lua:3:3: error[no-loss]: forward returns the loss, e.g. return
--     cross_entropy(logits, targets); it returns the value [batch, outputs]
--     3 |   forward = function(m)
--       |   ^~~~~~~
