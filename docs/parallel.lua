-- The job of docs/parallel.md: a Llama of two layers, small enough to do its numbers by hand. Not for training.
return job {
  model     = { "llama", layers = 2, width = 512, heads = 8, kv_heads = 4, ffn = 1024, vocab = 1024 },
  data      = "synthetic",
  train     = { batch = "16 sequences", context = 256, microbatch = 1, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  memory    = { recompute = "none" },
  cluster   = { "dgx-h100", devices = 4 },
}
