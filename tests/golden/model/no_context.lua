-- job: context = 0
return model {
  sizes = { vocab = 4 },
  forward = function(m) return input("tokens", { "batch", "seq" }, "ids") end,
}
-- >>> expected
-- no_context.lua:4:32: error[missing-context]: input: 'seq' has no size: the job
--     says no train.context
--     4 |   forward = function(m) return input("tokens", { "batch", "seq" }, "ids") end,
--       |                                ^~~~~
--         fix: train = { context = 1024 }
