return model {
  sizes = { layers = 3, width = 16, outputs = 3 },
  forward = function(m)
    local y = input("y", { "batch" }, "ids")
    local x = input("x", { "batch", "width" })
    x = stack("h", m.layers, x, function(x, m)
      x = x - linear("l", x * x, "width")
      return layernorm("n", x)
    end)
    return cross_entropy(linear("head", x, "outputs"), y)
  end,
}
-- >>> expected
