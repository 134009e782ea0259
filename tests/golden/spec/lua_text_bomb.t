local s = "x"
for i = 1, 64 do
  s = s .. s
end
return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:3:3: error[limit]: a text grew beyond 64 KiB
    3 |   s = s .. s
      |   ^
