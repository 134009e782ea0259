return job {
  model = { "llama", layers = 2, vocab = 256, ffn = 64, width = 128, heads = 4, rope_factor = 0.5 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, context = 64, steps = 2 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = "fp32",
}
-- >>> exit 1
job.lua:2:95: error[rope-scaling]: model.rope_factor = 0.5: rope: factor is 1 or
    more, 0 < low_freq < high_freq, and original_positions 1 or more; got factor
    0.5, low_freq 1, high_freq 4, original_positions 8192
    2 |  width = 128, heads = 4, rope_factor = 0.5 },
      |                                        ^~~
    SPECS/models/llama.lua:20:23: note: this
    is what 'llama' makes of it
