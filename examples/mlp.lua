-- A plain regressor with residual blocks: a first model of one's own.
-- In job.lua: model = { "./mlp.lua", inputs = 8, outputs = 1 }, with a table as data.

return model {
  sizes = { inputs = required, outputs = 1, width = 64, hidden = 256, layers = 3 },
  axes = { hidden = "tp" }, -- a name of your own is divided over devices only when you say so
  bias = true,
  init = "kaiming_uniform",

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
