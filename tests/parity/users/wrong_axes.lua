return model {
  sizes = { inputs = 4, outputs = 1, width = 16 },
  axes = { widht = "tp", width = "model", outputs = "pp" },
  forward = function(m)
    local x, y = input("x", { "batch", "inputs" }), input("y", { "batch", "outputs" })
    return mse(linear("last", linear("first", x, "width"), "outputs"), y)
  end,
}
-- >>> expected
-- wrong_axes.lua:3:12: error[not-a-model]: axes.widht: expected a dimension: one
--     of the sizes, batch or seq
--     3 |   axes = { widht = "tp", width = "model", outputs = "pp" },
--       |            ^~~~~
-- wrong_axes.lua:3:26: error[not-a-model]: axes.width: expected "dp", "cp", "tp"
--     or false (never divided)
--     3 |   axes = { widht = "tp", width = "model", outputs = "pp" },
--       |                          ^~~~~
-- wrong_axes.lua:3:43: error[not-a-model]: axes.outputs: expected "dp", "cp", "tp"
--     or false (never divided)
--     3 |   axes = { widht = "tp", width = "model", outputs = "pp" },
--       |                                           ^~~~~~~
