return model {
  sizes = { inputs = 4, outputs = 1 },
  forward = function(m)
    local x, y = input("x", { "batch", "inputs" }), input("y", { "batch", "outputs" })
    return mse(torch.nn.Linear(4, 1)(x), y)
  end,
}
-- >>> expected
-- einsum.lua:5:16: error[unknown-name]: nothing is named 'torch' here;
--     text is written in quotes
--     5 |     return mse(torch.nn.Linear(4, 1)(x), y)
--       |                ^~~~~
--         fix: "torch"
