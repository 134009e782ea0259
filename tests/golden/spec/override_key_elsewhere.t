-- RUN: check job.lua --no-data -D train.lr=1e-4 -D train_batch_size=64
return job {
  model     = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data      = "synthetic",
  train     = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
-D train.lr=1e-4: error[unknown-key]: train.lr: no such key; section optimizer
    has it
        fix: -D optimizer.lr=1e-4
-D train_batch_size=64: error[unknown-key]: train_batch_size: no such key; that
    is train.batch here, in "N sequences"
        fix: -D 'train.batch="64 sequences"'
2 errors
