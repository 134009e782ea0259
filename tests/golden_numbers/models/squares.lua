-- Matrices and nothing else, so that a number of parameters can be hit exactly:
-- inputs x width + layers x 2 x width x hidden.
return model {
  sizes = { inputs = required, width = required, hidden = required, layers = required },
  bias  = false,
  init  = "kaiming_uniform",

  forward = function(m)
    local x = input("x", { "batch", "inputs" })
    local y = input("y", { "batch", "width" })
    return mse(stack("blocks", m.layers, linear("first", x, "width"), function(h)
      return h + linear("down", relu(linear("up", h, "hidden")), "width")
    end), y)
  end,
}
