-- RUN: compile job.lua -o x.plan 2>&1 | grep "^cost"
return job {
  model = { "gpt2", layers = 2, width = 64, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "1024 sequences", microbatch = 32, steps = 1e6 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "dgx-h100", nodes = 2, price = "$98.32/h" },
}
-- >>> exit 0
cost     1.84 GPU-hours (at least 0.0136), 0.231 node-hours, $22.67, 1.29 kWh
