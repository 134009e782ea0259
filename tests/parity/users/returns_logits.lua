return model {
  sizes = { inputs = 4, outputs = 1, width = 16 },
  forward = function(m)
    local x = input("x", { "batch", "inputs" })
    return linear("last", x, "outputs")
  end,
}
-- >>> expected
-- returns_logits.lua:3:3: error[no-loss]: forward returns the loss, e.g. return
--     cross_entropy(logits, targets); it returns the value [batch, outputs]
--     3 |   forward = function(m)
--       |   ^~~~~~~
