return job { "base.lua" }
-- FILE: base.lua
return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:1:14: error[path]: a base file begins with ./ or /; got "base.lua"
    1 | return job { "base.lua" }
      |              ^~~~~~~~~~
        fix: "./base.lua"
