-- What is made of positions alone has no samples to be summed over.
return model {
  sizes = { vocab = 8, positions = 64 },
  forward = function(m)
    local tokens = input("tokens", { "batch", "seq" }, "ids")
    local p = embedding("p", positions(tokens), { "positions", "vocab" })
    return mse(linear("a", tanh(p), "vocab"), tanh(p))
  end,
}
-- >>> expected
-- loss_without_batch.lua:7:12: error[loss-shape]: mse: [seq, vocab] is the same
--     for all samples: a loss compares values with 'batch'
--     7 |     return mse(linear("a", tanh(p), "vocab"), tanh(p))
--       |            ^~~
