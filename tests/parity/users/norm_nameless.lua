return model {
  sizes = { inputs = 4, outputs = 1, width = 16 },
  forward = function(m)
    local x, y = input("x", { "batch", "inputs" }), input("y", { "batch", "outputs" })
    return mse(linear("last", rmsnorm(layernorm(x, "ln"), 1e-6), "outputs"), y)
  end,
}
-- >>> expected
-- norm_nameless.lua:5:31: error[not-a-value]: rmsnorm: argument 2 is a value; got
--     the number 1e-06
--     5 |     return mse(linear("last", rmsnorm(layernorm(x, "ln"), 1e-6), "outputs"), y)
--       |                               ^~~~~~~
-- norm_nameless.lua:5:39: error[not-a-value]: layernorm: argument 2 is a value;
--     got the text "ln"
--     5 |     return mse(linear("last", rmsnorm(layernorm(x, "ln"), 1e-6), "outputs"), y)
--       |                                       ^~~~~~~~~
