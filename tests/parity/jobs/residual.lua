-- A classifier with a stack, so that tensor parallelism and pipelines have something to divide.
return model {
  sizes = { inputs = 3, classes = 4, width = 16, hidden = 32, layers = 4 },
  axes  = { hidden = "tp", classes = "tp" },
  bias  = true,
  forward = function(m)
    local x, y = input("x", { "batch", "inputs" }), input("y", { "batch" }, "ids")
    local h = linear("first", x, "width")
    h = stack("blocks", m.layers, h, function(h)
      return h + linear("down", relu(linear("up", h, "hidden")), "width")
    end)
    return cross_entropy(linear("last", h, "classes"), y)
  end,
}
