-- The loss is of whole samples, which are sequences only by the job: its gradients would be divided by their tokens.
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
-- rows_beside_sequences.lua:5:21: lint[unused-value]: input 't' is read and not
--     used
--     5 |     local x, y, t = input("x", { "batch", "inputs" }), input("y", { "batch", "outputs" }),
--       |                     ^~~~~
-- rows_beside_sequences.lua:8:12: error[loss-shape]: mse: [batch, outputs] is one
--     value a sample, and a sample of this job is a sequence of 16 tokens
--     8 |     return mse(linear("o", h, "outputs"), y)
--       |            ^~~
--     job.lua:2:73: note: samples without tokens: batch = "64 samples", and no
--     context
