return model {
  sizes = { inputs = 3, width = 16, outputs = 2, layers = 2, heads = 2, head = 8 },
  forward = function(m)
    local x = input("x", { "batch", "seq", "inputs" })
    local y = input("y", { "batch", "seq", "outputs" })
    local h = linear("first", x, "width")
    h = stack("h", m.layers, h, function(h)
      local q, k, v = linear("q", h, { "heads", "head" }), linear("k", h, { "heads", "head" }), linear("v", h, { "heads", "head" })
      return h + linear("o", attention(rope(q), rope(k), v), "width")
    end)
    return mse(linear("last", h, "outputs"), y)
  end,
}
-- >>> expected
