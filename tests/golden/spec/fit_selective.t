-- RUN: explain job.lua | grep -E -A1 "^(memory  |M_act|budget)"
return job {
  model = { "llama", layers = 16, width = 1024, heads = 16, kv_heads = 4, ffn = 4096, vocab = 256, positions = 2048 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 1, steps = 1 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = "bf16",
  cluster = { "dgx-h100", devices = 1 },
  memory = { budget = "5.5GB" },
}
-- >>> exit 0
memory   5.35 GB            of 5.50 GB a rank (97 %); packing 0.0 % above bound
         5.98 GB            with nothing recomputed
--
M_act    activations                  0.882917  bf16, recompute selective
         activation gradients         0.008389
--
budget   of a rank                    5.500000
arena: 5,351,657,216 bytes, one allocation
