-- RUN: check job.lua
return job {
  model = { "llama", layers = 2, width = 64, heads = 2, ffn = 64, vocab = 128, rope_base = 1e-60 },
  data = "synthetic",
  train = { batch = "8 sequences", context = 64, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:2:92: error[rope-base]: model.rope_base = 1e-60: rope: base is 1.2e-38
    to 3.4e38, as fp32 has; got 1e-60
    2 |  2, ffn = 64, vocab = 128, rope_base = 1e-60 },
      |                                        ^~~~~
    SPECS/models/llama.lua:20:23: note: this
    is what 'llama' makes of it
