-- RUN: explain job.lua --against parallel.zero=7 --against train.stepz=1
return job {
  model = { "gpt2", layers = 12, width = 1024, heads = 16, vocab = 4096, positions = 1024 },
  data = "synthetic",
  train = { batch = "8 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "dgx-h100", devices = 4 },
  parallel = { zero = 3 },
}
-- >>> exit 1
lockstep: this job with the changes of --against has errors:
-D parallel.zero=7: error[range]: parallel.zero is 0 to 3; got "7"
-D train.stepz=1: error[unknown-key]: train.stepz: no such key; did you mean
    'steps'?
        fix: steps
2 errors
