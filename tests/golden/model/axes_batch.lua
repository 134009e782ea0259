return model {
  sizes = { inputs = 8 },
  axes = { batch = false },
  forward = function(m) end,
}
-- >>> expected
-- axes_batch.lua:3:12: error[not-a-model]: axes.batch: expected "dp", or nothing:
--     samples are divided by dp alone
--     3 |   axes = { batch = false },
--       |            ^~~~~
