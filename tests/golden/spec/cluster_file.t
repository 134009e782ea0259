return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = "./mine.lua",
}
-- FILE: mine.lua
return { "dgx-h100", nodes = 2, devces = 4, memory = "lots" }
-- >>> exit 1
mine.lua:1:33: error[unknown-key]: devces: no such key of this file
    1 | return { "dgx-h100", nodes = 2, devces = 4, memory = "lots" }
      |                                 ^~~~~~
        fix: devices
mine.lua:1:54: error[wrong-type]: memory: expected "80GiB"; got "lots"
    1 | return { "dgx-h100", nodes = 2, devces = 4, memory = "lots" }
      |                                                      ^~~~~~
        fix: memory = "80GiB"
2 errors
