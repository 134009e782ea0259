local n = 0
for i = 1, 10 do n = n + i end
return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = string.format("%d sequences", 8), microbatch = 2, steps = n },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 0
job.lua: right
