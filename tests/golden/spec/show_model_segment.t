-- RUN: show job.plan --model --segment h.forward
-- SETUP: "$lockstep" compile job.lua -q -o job.plan
return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 64, positions = 16 },
  data = "synthetic",
  train = { batch = "2 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
lockstep: show prints either --segment or --model, not both
