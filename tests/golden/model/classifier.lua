-- A label a sample, from columns of a table.
return model {
  sizes = { inputs = 8, classes = 4 },
  forward = function(m)
    local x, label = input("x", { "batch", "inputs" }), input("label", { "batch" }, "ids")
    return cross_entropy(linear("a", x, "classes", { bias = true, init = "kaiming_uniform" }), label)
  end,
}
-- >>> expected
-- 36 parameters
-- begin x 1:
--     linear a [batch, classes]
--     cross_entropy cross_entropy
