return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = "./c.lua",
}
-- FILE: c.lua
return { device = 5, nodes = 1.5, inter = "fast", cores = 0 }
-- >>> exit 1
c.lua:1:19: error[wrong-type]: device: expected a name of specs/devices or
    "cpu"; got 5
    1 | return { device = 5, nodes = 1.5, inter = "fast", cores = 0 }
      |                   ^
        fix: device = "..."
c.lua:1:30: error[wrong-type]: nodes: expected a whole number from 1 on; got 1.5
    1 | return { device = 5, nodes = 1.5, inter = "fast", cores = 0 }
      |                              ^~~
        fix: nodes = 1
c.lua:1:43: error[wrong-type]: inter: expected "400Gb/s"; got "fast"
    1 | return { device = 5, nodes = 1.5, inter = "fast", cores = 0 }
      |                                           ^~~~~~
        fix: inter = "400Gb/s"
c.lua:1:59: error[wrong-type]: cores: expected a whole number from 1 on; got 0
    1 | return { device = 5, nodes = 1.5, inter = "fast", cores = 0 }
      |                                                           ^
        fix: cores = 1
4 errors
