return job {
  model = { "llama", layers = 2, vocab = 256, ffn = 64, width = 12, heads = 4 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, context = 64, steps = 2 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = "fp32",
}
-- >>> exit 1
job.lua:2:65: error[rope-shape]: rope: pairs of numbers are turned, and head = 3
    is odd
    2 | rs = 2, vocab = 256, ffn = 64, width = 12, heads = 4 },
      |                                        ^~
    SPECS/models/llama.lua:20:23: note: rope
    is here
