-- A plain regressor: a first model of one's own. A job beside it says model = { "./mlp.lua", inputs = 3 }.
return model {
  sizes = { inputs = required, outputs = 1, width = 64, hidden = 256, layers = 3 },
  axes  = { hidden = "tp" },             -- names of your own are never sharded unless you say how
  bias  = true,
  init  = "kaiming_uniform",

  forward = function(m)
    local x = input("x", { "batch", "inputs" })
    local y = input("y", { "batch", "outputs" })

    local h = relu(linear("first", x, "width"))
    h = stack("blocks", m.layers, h, function(h)
      return h + linear("down", relu(linear("up", h, "hidden")), "width")
    end)
    return mse(linear("last", h, "outputs"), y)
  end,
}
