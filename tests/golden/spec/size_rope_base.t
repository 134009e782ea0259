return job {
  model = { "llama", layers = 2, vocab = 256, ffn = 64, width = 128, heads = 4, rope_base = 0 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, context = 64, steps = 2 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = "fp32",
}
-- >>> exit 1
job.lua:2:93: error[rope-base]: model.rope_base = 0: rope: base is above 0; got
    0
    2 | 4, width = 128, heads = 4, rope_base = 0 },
      |                                        ^
    SPECS/models/llama.lua:20:23: note: this
    is what 'llama' makes of it
