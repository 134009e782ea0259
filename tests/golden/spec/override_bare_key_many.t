-- RUN: check job.lua -D every=3
return job {
  model = { "gpt2", layers = 4, width = 32, heads = 4, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
-D every=3: error[unknown-section]: every: that may be checkpoint.every,
    log.every; -D wants the whole name
        fix: -D log.every=3
