return job {
  model = { "llama", layers = 2, vocab = 256, ffn = 64, width = 128, heads = 4, kv_heads = 3 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, context = 64, steps = 2 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = "fp32",
}
-- >>> exit 1
job.lua:2:92: error[heads-multiple]: attention: heads = 4 is not a multiple of
    kv_heads = 3
    2 | 64, width = 128, heads = 4, kv_heads = 3 },
      |                                        ^
        fix: kv_heads = 2
    SPECS/models/llama.lua:20:13: note:
    attention is here
