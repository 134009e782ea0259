return model {
  sizes = { width = 16, heads = 2, head = 8, vocab = 64, outputs = 1 },
  forward = function(m)
    local tokens = input("tokens", { "batch", "seq" }, "ids", "i64")
    local targets = input("targets", { "batch", "seq" }, "ids")
    local w = weight("w", { "width", "outputs" }, { init = "normal" }, true)
    local x = embedding("wte", tokens, { "vocab", "width" }, { padding_idx = 0 })
    local p = embedding("wpe", positions(tokens, 1), { "vocab", "width" })
    x = x + p
    local _ = gelu(x, "quick")
    x = silu(x, true) + relu(x, { inplace = true }) + tanh(x, 1)
    x = dropout(x, 0.1, true)
    x = rmsnorm("n", x, { eps = 1e-6 }, "fp32") + layernorm("l", x, 1e-6)
    x = rope(linear("q", x, { "heads", "head" }), 10000)
    x = linear(w, linear("o", x, "width", nil, "x"), nil, nil, 3)
    return cross_entropy(linear("head", x, "vocab"), targets, "mean")
  end,
}
-- >>> expected
-- extra_arguments.lua:4:20: error[extra-argument]: input(name, dims, "ids") takes
--     3 arguments; argument 4 is the text "i64"
--     4 |     local tokens = input("tokens", { "batch", "seq" }, "ids", "i64")
--       |                    ^~~~~
--         fix: input(name, dims, "ids")
-- extra_arguments.lua:6:15: error[extra-argument]: weight(name, dims, { init })
--     takes 3 arguments; argument 4 is true
--     6 |     local w = weight("w", { "width", "outputs" }, { init = "normal" }, true)
--       |               ^~~~~~
-- extra_arguments.lua:7:15: error[extra-argument]: embedding(name, ids, dims)
--     takes 3 arguments; argument 4 is the table { padding_idx = ... }
--     7 |     local x = embedding("wte", tokens, { "vocab", "width" }, { padding_idx = 0 })
--       |               ^~~~~~~~~
--         fix: embedding(name, ids, dims)
--     note: ids below 0 give zeros; there is no other padding
-- extra_arguments.lua:8:32: error[extra-argument]: positions(ids) takes 1
--     argument; argument 2 is the number 1
--     8 |     local p = embedding("wpe", positions(tokens, 1), { "vocab", "width" })
--       |                                ^~~~~~~~~
--         fix: positions(ids)
--     note: they begin with 0
-- extra_arguments.lua:10:15: error[op-form]: gelu: argument 2 is "tanh"|"erf"; got
--     the text "quick"
--    10 |     local _ = gelu(x, "quick")
--       |               ^~~~
--         fix: gelu(x, "tanh")
-- extra_arguments.lua:11:9: error[extra-argument]: silu(x) takes 1 argument;
--     argument 2 is true
--    11 |     x = silu(x, true) + relu(x, { inplace = true }) + tanh(x, 1)
--       |         ^~~~
--         fix: silu(x)
-- extra_arguments.lua:11:25: error[extra-argument]: relu(x) takes 1 argument;
--     argument 2 is the table { inplace = ... }
--    11 |     x = silu(x, true) + relu(x, { inplace = true }) + tanh(x, 1)
--       |                         ^~~~
--         fix: relu(x)
-- extra_arguments.lua:11:55: error[extra-argument]: tanh(x) takes 1 argument;
--     argument 2 is the number 1
--    11 |     x = silu(x, true) + relu(x, { inplace = true }) + tanh(x, 1)
--       |                                                       ^~~~
--         fix: tanh(x)
-- extra_arguments.lua:12:9: error[extra-argument]: dropout(x, rate) takes 2
--     arguments; argument 3 is true
--    12 |     x = dropout(x, 0.1, true)
--       |         ^~~~~~~
--         fix: dropout(x, rate)
--     note: validation runs without it by itself
-- extra_arguments.lua:13:9: error[extra-argument]: rmsnorm(name, x, { eps, over,
--     offset }) takes 3 arguments; argument 4 is the text "fp32"
--    13 |     x = rmsnorm("n", x, { eps = 1e-6 }, "fp32") + layernorm("l", x, 1e-6)
--       |         ^~~~~~~
-- extra_arguments.lua:13:51: error[not-options]: layernorm: argument 3 holds
--     options, { eps = ... }; got the number 1e-06
--    13 |     x = rmsnorm("n", x, { eps = 1e-6 }, "fp32") + layernorm("l", x, 1e-6)
--       |                                                   ^~~~~~~~~
-- extra_arguments.lua:15:9: error[extra-argument]: linear(name, x, out, { bias,
--     init }) takes 4 arguments; argument 5 is the number 3
--    15 |     x = linear(w, linear("o", x, "width", nil, "x"), nil, nil, 3)
--       |         ^~~~~~
-- extra_arguments.lua:15:9: error[extra-argument]: linear(name, x, out, { bias,
--     init }) takes 4 arguments; argument 5 is the text "x"
--    15 |     x = linear(w, linear("o", x, "width", nil, "x"), nil, nil, 3)
--       |         ^~~~~~
