-- RUN: compile job.lua -o x.plan -D cluster=dgx-h100 2>&1 | grep "^bits"
return job {
  model = { "gpt2", layers = 2, width = 64, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", steps = 10, deterministic = true },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 0
bits     deterministic      slower on GPUs; how much was never measured
