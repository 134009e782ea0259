-- RUN: check job.lua --no-data -D train.stepz=5 -D trian.steps=5 -D parallel.order=x
return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
-D train.stepz=5: error[unknown-key]: train.stepz: no such key; did you mean
    'steps'?
        fix: steps
-D trian.steps=5: error[unknown-section]: trian: no such section; did you mean
    'train'?
        fix: train
2 errors
