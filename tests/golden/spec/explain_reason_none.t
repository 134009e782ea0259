-- RUN: explain job.lua --json 2>/dev/null | grep -oE '"reason":[^,]*'
return job {
  model = { "gpt2", layers = 1, width = 32, heads = 4, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 0
"reason":null
