return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = "./c.lua",
}
-- FILE: c.lua
return { "./c.lua" }
-- >>> exit 1
c.lua:1:10: error[base-cycle]: these cluster files begin with each other in a
    circle
    1 | return { "./c.lua" }
      |          ^~~~~~~~~
        fix: begin one of them with none, or with a cluster of the library
