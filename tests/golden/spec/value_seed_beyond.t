-- RUN: check job.lua -D train.seed=99999999999999999999
return job {
  model     = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 64, positions = 16 },
  data      = "synthetic",
  train     = { batch = "8 sequences", microbatch = 1, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
-D train.seed=99999999999999999999: error[wrong-type]: train.seed: expected a
    whole number such as 8, 2^19 or "16Mi"; got "99999999999999999999"
