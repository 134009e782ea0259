return job {
  model = { "llama", layers = 2, vocab = 256, ffn = 64, width = 2^40, heads = 4 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, context = 64, steps = 2 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = "fp32",
}
-- >>> exit 1
job.lua:2:65: error[wrong-size]: model.width = 1099511627776, model.heads = 4:
    parameter 'model.layers.*.self_attn.q_proj.weight' [heads, head, width]
    would have 1.21e+24 elements
    2 | rs = 2, vocab = 256, ffn = 64, width = 2^40, heads = 4 },
      |                                        ^~~~
    SPECS/models/llama.lua:9:13: note: this is
    what 'llama' makes of it
