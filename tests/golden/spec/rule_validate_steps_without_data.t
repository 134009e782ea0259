return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", steps = 10, validate_steps = 3 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:4:65: error[conflict]: train.validate_steps needs data.valid
    4 | quences", steps = 10, validate_steps = 3 },
      |                                        ^
        fix: remove validate_steps
