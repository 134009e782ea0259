local function f(n) return 1 + f(n + 1) end
local x = f(1)
return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:1:16: error[limit]: functions call each other without end
    1 | local function f(n) return 1 + f(n + 1) end
      |                ^
