-- GPT-2 124M on FineWeb, one GPU's worth of memory. The token files are those of llm.c (dev/data/fineweb.py).
--   work   0.86 GFLOP/token * 9.9e9 tokens = 8.5e18
--   state  124e6 * 18 B = 2.2 GB: fits anywhere, so nothing is sharded
return job {
  model     = "gpt2-124m",
  data      = { train = "../data/fineweb10B/fineweb_train_*.bin", valid = "../data/fineweb10B/fineweb_val_*.bin" },
  train     = { batch = "512Ki tokens", microbatch = 64, steps = 18865 },   -- 512 sequences = 8 passes of 64
  optimizer = { "adamw", lr = 6e-4 },
  schedule  = { "cosine", warmup = 700 },
  cluster   = { "dgx-h100", devices = 1 },
}
