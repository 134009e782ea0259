return model {
  sizes = { inputs = 8 },
  forward = function(m)
    local x = input("x", { "batch", "inputs" })
    local a = linear("a", x, "inputs", { bais = true })
    local b = linear("b", x, "inputs", { bias = 1 })
    local c = linear("c", x, "inputs", { init = { "normal", std = "small" } })
    local d = layernorm("d", x, 1e-5)
    local e = layernorm("e", x, { eps = -1 })
    local f = dropout(x)
    local g = dropout(x, 1)
    return mse(x, x)
  end,
}
-- >>> expected
-- options.lua:5:15: error[unknown-option]: linear: no option 'bais'; it has bias,
--     init
--     5 |     local a = linear("a", x, "inputs", { bais = true })
--       |               ^~~~~~
--         fix: bias = ...
-- options.lua:6:15: error[wrong-option]: linear: bias is true or false; got the
--     number 1
--     6 |     local b = linear("b", x, "inputs", { bias = 1 })
--       |               ^~~~~~
-- options.lua:7:15: error[wrong-option]: linear: init: std is a number; got a
--     table
--     7 |     local c = linear("c", x, "inputs", { init = { "normal", std = "small" } })
--       |               ^~~~~~
-- options.lua:8:15: error[not-options]: layernorm: argument 3 holds options, { eps
--     = ... }; got the number 1e-05
--     8 |     local d = layernorm("d", x, 1e-5)
--       |               ^~~~~~~~~
-- options.lua:9:15: error[wrong-option]: layernorm: eps is above 0; got -1
--     9 |     local e = layernorm("e", x, { eps = -1 })
--       |               ^~~~~~~~~
-- options.lua:10:15: error[dropout-rate]: dropout: argument 2 is the rate; got nil
--    10 |     local f = dropout(x)
--       |               ^~~~~~~
--         fix: dropout(x, 0.1)
-- options.lua:11:15: error[dropout-rate]: dropout: the rate is a share of the
--     elements, 0 <= rate < 1; got 1
--    11 |     local g = dropout(x, 1)
--       |               ^~~~~~~
