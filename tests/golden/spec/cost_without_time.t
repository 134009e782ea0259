-- RUN: explain job.lua 2>&1 | grep "^cost"
return job {
  model = { "gpt2", layers = 2, width = 64, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "here", price = "$3/h" },
}
-- >>> exit 0
cost     $3.00 a node and hour; no step time is predicted for cpu
