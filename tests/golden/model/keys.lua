return model {
  sizes = { inputs = 8, batch = 3, hidden = {} },
  axes = { inputs = "pp", width = "tp" },
  bias = 1, init = "xavier", foward = 3,
  forward = function(m) end,
}
-- >>> expected
-- keys.lua:2:3: error[not-a-model]: sizes: expected names of your own; batch, seq
--     and params are taken
--     2 |   sizes = { inputs = 8, batch = 3, hidden = {} },
--       |   ^~~~~
-- keys.lua:2:36: error[not-a-model]: sizes.hidden: expected a number, true or
--     false, a text, required, or function(m) ... end
--     2 |   sizes = { inputs = 8, batch = 3, hidden = {} },
--       |                                    ^~~~~~
-- keys.lua:3:12: error[not-a-model]: axes.inputs: expected "dp", "cp", "tp" or
--     false (never divided)
--     3 |   axes = { inputs = "pp", width = "tp" },
--       |            ^~~~~~
-- keys.lua:3:27: error[not-a-model]: axes.width: expected a dimension: one of the
--     sizes, batch or seq
--     3 |   axes = { inputs = "pp", width = "tp" },
--       |                           ^~~~~
-- keys.lua:4:3: error[not-a-model]: bias: expected true or false
--     4 |   bias = 1, init = "xavier", foward = 3,
--       |   ^~~~
-- keys.lua:4:13: error[wrong-option]: init: it is one of normal, uniform,
--     constant, kaiming_uniform, or e.g. { "normal", std = 0.02 }
--     4 |   bias = 1, init = "xavier", foward = 3,
--       |             ^~~~
-- keys.lua:4:30: error[unknown-key]: foward: no such key; a model has sizes, axes,
--     bias, init, forward, huggingface
--     4 |   bias = 1, init = "xavier", foward = 3,
--       |                              ^~~~~~
--         fix: forward
