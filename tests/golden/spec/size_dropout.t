return job {
  model = { "gpt2", layers = 2, vocab = 256, width = 128, heads = 4, dropout = 1.5 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, context = 64, steps = 2 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = "fp32",
}
-- >>> exit 1
job.lua:2:80: error[dropout-rate]: model.dropout = 1.5: dropout: the rate is a
    share of the elements, 0 <= rate < 1; got 1.5
    2 | 256, width = 128, heads = 4, dropout = 1.5 },
      |                                        ^~~
    SPECS/models/gpt2.lua:38:30: note: this is
    what 'gpt2' makes of it
