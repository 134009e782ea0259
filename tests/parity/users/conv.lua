return model {
  sizes = { width = 16, channels = 4, outputs = 1 },
  forward = function(m)
    local x, y = input("x", { "batch", "channels", "width" }), input("y", { "batch", "outputs" })
    return mse(linear("last", conv1d("c", x, "channels", 3), "outputs"), y)
  end,
}
-- >>> expected
-- conv.lua:5:31: error[unknown-name]: nothing is named 'conv1d' here;
--     no function has this name; one of your own must be defined above its use
--     5 |     return mse(linear("last", conv1d("c", x, "channels", 3), "outputs"), y)
--       |                               ^~~~~~
