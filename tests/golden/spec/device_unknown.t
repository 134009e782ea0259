return job {
  model     = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data      = "synthetic",
  train     = { batch = "8 sequences", microbatch = 2, steps = 10 },
  cluster = { "here", device = "cuda" },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:5:32: error[unknown-preset]: no device is named 'cuda'; cluster = "here"
    takes this machine's GPUs by itself, and lockstep list devices has those of
    others
    5 |   cluster = { "here", device = "cuda" },
      |                                ^~~~~~
        fix: remove device
