-- A GPT-2 of 41 thousand parameters. A test changes keys with -D; also the place of the data.
return job {
  model      = { "gpt2", layers = 2, width = 32, heads = 4, vocab = 64, positions = 32 },
  data       = "synthetic",
  train      = { batch = "4 sequences", microbatch = 2, steps = 20 },
  optimizer  = { "adamw", lr = 3e-3, clip = 0.5 },
  precision  = "fp32",
  memory     = { recompute = "none" },
  checkpoint = { every = "1000 steps", resume = "never" },
}
