-- Llama 3 70B on 64 H100: tp 8 inside a node, two stages, four replicas.
--   work    0.44 TFLOP/token * 2.1e6 tokens = 9.2e17 a step: 14 s at the peak of all
--   state   70.6e9 / (tp 8 * pp 2) = 4.4e9 parameters a rank: 6 B of each and 12 B shared by dp 4: 40 GB of 80
--   bubble  1 / (128 micro-batches + 1) = 0.8 %
return job {
  model     = "llama3-70b",
  reason    = "70B of states on 16 ranks leave half a GPU for activations; four such groups divide the batch",
  data      = "synthetic",
  train     = { batch = "512 sequences", context = 4096, microbatch = 1, steps = 100000 },
  optimizer = { "adamw", lr = 3e-4, weight_decay = 0.1, clip = 1.0 },
  schedule  = { "cosine", warmup = 2000, floor = 0.1 },
  parallel  = { tp = 8, pp = 2, zero = 1 },
  cluster   = { "dgx-h100", nodes = 8 },
}
