return model {
  sizes = { inputs = 8 },
  forward = function(m)
    local x = input("x", { "batch", "inputs" })
    local h = linear("a", x, "inputs")
    mse(h, x)
    return h
  end,
}
-- >>> expected
-- no_loss.lua:3:3: error[no-loss]: forward returns the loss, e.g. return
--     cross_entropy(logits, targets); it returns the value [batch, inputs]
--     3 |   forward = function(m)
--       |   ^~~~~~~
--     no_loss.lua:6:5: note: a loss is made here
