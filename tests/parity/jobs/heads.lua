-- Four losses: one of the values before the blocks, two of the same logits, and one of numbers.
return model {
  sizes = { inputs = 3, width = 32, hidden = 48, layers = 2, vocab = 4, sides = 3, outputs = 2, side = 0.3 },
  axes  = { hidden = "tp" },
  bias  = true,
  forward = function(m)
    local x, size = input("x", { "batch", "inputs" }), input("size", { "batch", "outputs" })
    local kind, side = input("kind", { "batch" }, "ids"), input("side", { "batch" }, "ids")
    local h = relu(linear("first", x, "width"))
    local sides = cross_entropy(linear("early", h, "sides"), side, { name = "side", smoothing = 0.1 })
    h = stack("blocks", m.layers, h, function(h)
      return h + linear("down", relu(linear("up", h, "hidden")), "width")
    end)
    local logits = linear("head", h, "vocab")
    local kinds = cross_entropy(logits, kind, { name = "kind" })
    local z = cross_entropy(logits, kind, { name = "z", z = 0.01 }) - kinds
    return 2 * (m.side * sides + z) + mse(linear("last", h, "outputs"), size, { name = "size" }) / 2 + kinds
  end,
}
