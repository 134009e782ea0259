local s = ("ab"):rep(30000)
for i = 1, 1e9 do local t = s .. "c" end
return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:2:1: error[limit]: the file builds more than 1 GiB of values, one after
    another
    2 | for i = 1, 1e9 do local t = s .. "c" end
      | ^
