return model {
  sizes = { layers = 2, inputs = 3, width = 8, outputs = 1 },
  forward = function(m)
    local x, y, t = input("x", { "batch", "inputs" }), input("y", { "batch", "outputs" }), input("t", { "batch", "seq" })
    local h = linear("in", x, "width")
    h = stack("s", 2, h, function(h) return h + tanh(linear("d", h, "width")) end)
    return mse(linear("o", h, "outputs"), y)
  end,
}
-- >>> expected
-- rows_beside_sequences.lua:4:21: lint[unused-value]: input 't' is read and not
--     used
--     4 |     local x, y, t = input("x", { "batch", "inputs" }), input("y", { "batch", "outputs" }),
--       |                     ^~~~~
-- cp 2: degrees: parallel.cp = 2 divides sequences, and between parameter 'in.weight' and the loss no value has 'seq'
