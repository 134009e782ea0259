-- RUN: check job.lua -D lr=3e-4
return job {
  model = { "gpt2", layers = 4, width = 32, heads = 4, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
-D lr=3e-4: error[unknown-section]: lr: that is optimizer.lr; -D wants the whole
    name
        fix: -D optimizer.lr=3e-4
