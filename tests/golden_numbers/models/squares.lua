-- Pairs of matrices and nothing else, so that a number of parameters can be hit exactly: layers x 2 x width x hidden.
return model {
  sizes = { width = required, hidden = required, layers = required },
  bias  = false,
  init  = "kaiming_uniform",

  forward = function(m)
    local x = input("x", { "batch", "width" })
    local y = input("y", { "batch", "width" })
    return mse(stack("blocks", m.layers, x, function(h)
      return h + linear("down", relu(linear("up", h, "hidden")), "width")
    end), y)
  end,
}
