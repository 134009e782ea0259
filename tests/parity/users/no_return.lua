return model {
  sizes = { inputs = 4, outputs = 1, width = 16 },
  forward = function(m)
    local x, y = input("x", { "batch", "inputs" }), input("y", { "batch", "outputs" })
    mse(linear("last", x, "outputs"), y)
  end,
}
-- >>> expected
-- no_return.lua:3:3: error[no-loss]: forward returns the loss, e.g. return
--     cross_entropy(logits, targets); it returns nothing
--     3 |   forward = function(m)
--       |   ^~~~~~~
--     no_return.lua:5:5: note: a loss is made here
