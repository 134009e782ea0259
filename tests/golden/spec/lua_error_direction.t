error("\u{9b}31m c1 \u{202e} rtl")
return job {
  model     = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data      = "synthetic",
  train     = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:1:1: error[lua-error]: \xc2\x9b31m c1 \xe2\x80\xae rtl
    1 | error("\u{9b}31m c1 \u{202e} rtl")
      | ^~~~~
