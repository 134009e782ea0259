-- One value three times: with itself, with a norm of it, and as it is.
return model {
  sizes = { layers = 2, width = 16, ffn = 32, vocab = 32 },

  forward = function(m)
    local x = embedding("wte", input("tokens", { "batch", "seq" }, "ids"), { "vocab", "width" })
    x = stack("h", m.layers, x, function(x)
      local h = linear("down", gelu(linear("up", x, "ffn")), "width")
      return x + h * h - rmsnorm("n", h) * h + h / 2
    end)
    return cross_entropy(linear("head", x, "vocab"), input("targets", { "batch", "seq" }, "ids"))
  end,
}
-- >>> expected
