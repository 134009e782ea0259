local t = {}
for i = 1, 1e12 do t[i] = i end
return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:2:1: error[limit]: the file uses more than 64 MiB of memory
    2 | for i = 1, 1e12 do t[i] = i end
      | ^
