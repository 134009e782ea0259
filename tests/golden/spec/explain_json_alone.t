-- RUN: explain job.lua --json 2>/dev/null | grep -oE '"(name|bubble|imbalance|microbatch_[a-z]+)":[^,]+'
return job {
  model = { "gpt2", layers = 4, width = 32, heads = 4, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 0
"bubble":0.000000
"imbalance":0.000000
"name":"replica"
"microbatch_ns":0
