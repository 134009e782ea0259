-- RUN: explain job.lua train.deterministic
return job {
  model = { "gpt2", layers = 2, width = 64, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", steps = 10, deterministic = true },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 0
train.deterministic    true                    job: job.lua:4:64
bits     deterministic      processors always are: nothing changes
