-- RUN: tune job.lua
return job {
  model     = "./broken.lua",
  data      = "synthetic",
  train     = { batch = "8 sequences", context = 64, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster   = { "dgx-h100", nodes = 1 },
}
-- FILE: broken.lua
return model { sizes = { layers = 2 }, error("no such thing") }
-- >>> exit 1
broken.lua:1:40: error[lua-error]: no such thing
    1 | return model { sizes = { layers = 2 }, error("no such thing") }
      |                                        ^~~~~
