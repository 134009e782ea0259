-- RUN: check job.lua -D train.batch=16
return job {
  model     = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 64, positions = 16 },
  data      = "synthetic",
  train     = { batch = "8 sequences", microbatch = 1, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
-D train.batch=16: error[unit]: train.batch: expected "512Ki tokens", "512
    sequences" or "64 samples"; got "16"
        fix: -D 'train.batch=16 sequences'
