return job {
  model = "./other.lua",
  data = "synthetic",
  train = { batch = "8 samples", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- FILE: other.lua
local function head(h)
  return norm_head(h)
end
local function norm_head(h) return h end
return model {
  sizes = { width = 8 },
  forward = function(m) return mse(head(input("x", { "batch", "width" })), input("y", { "batch", "width" })) end,
}
-- >>> exit 1
other.lua:2:10: error[unknown-name]: nothing is named 'norm_head' here;
    the function in line 4 is defined below its use: move it above
    2 |   return norm_head(h)
      |          ^~~~~~~~~
