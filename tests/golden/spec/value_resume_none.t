-- RUN: check job.lua -D checkpoint.resume=none
return job {
  model     = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 64, positions = 16 },
  data      = "synthetic",
  train     = { batch = "8 sequences", microbatch = 1, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
-D checkpoint.resume=none: error[unknown-word]: checkpoint.resume: none is not
    one of: auto never anyway, and no path of a checkpoint
        fix: -D checkpoint.resume=never
