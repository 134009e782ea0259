-- RUN: check job.lua --no-data -D train.steps -D =5
return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
-D =5: error[override]: expected section.key=value or section=NAME
        fix: -D train.steps=10
-D train.steps: error[override]: expected section.key=value or section=NAME
        fix: -D train.steps=10
2 errors
