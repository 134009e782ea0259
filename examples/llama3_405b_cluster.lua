-- Llama 3 405B on 16,384 H100: tp, pp, batch and sequence of its paper's table 4; each sequence on two ranks instead
-- of twice as many replicas. Compiles on a laptop.
--   work    2.5 TFLOP/token * 16.8e6 tokens = 4.2e19 a step: 2.6 s at the peak of all, 6.4 s at 41 %
--   state   405.9e9 / (tp 8 * pp 16) = 3.2e9 parameters a rank: 6 B of each, 12 B more shared by dp 64 * cp 2: 19 GB
--   bubble  15 / (8 chunks * 32 micro-batches + 15) = 5.5 %; without chunks 32 %
return job {
  model     = "llama3-405b",
  reason    = "tp inside a node, cp and pp over its fastest links, dp outermost",
  data      = "synthetic",
  train     = { batch = "2048 sequences", context = 8192, steps = 1000 },
  optimizer = { "adamw", lr = 8e-5 },
  schedule  = { "cosine", warmup = 100 },
  parallel  = { tp = 8, cp = 2, pp = 16, pipeline = { "interleaved", chunks = 8 }, regather = true },
  cluster   = { "dgx-h100", nodes = 2048 },
}
