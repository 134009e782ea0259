-- RUN: explain job.lua | grep -E -A1 "^(memory  |M_act|budget)"
return job {
  model = { "llama", layers = 16, width = 1024, heads = 16, kv_heads = 4, ffn = 4096, vocab = 256, positions = 2048 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 1, steps = 1 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = "bf16",
  cluster = { "dgx-h100", devices = 1 },
  memory = { budget = "5.4GB" },
}
-- >>> exit 0
memory   5.33 GB            of 5.40 GB a rank (99 %); packing 0.0 % above bound
         5.46 GB            with nothing recomputed
--
M_act    activations                  0.849363  bf16, recompute selective
         activation gradients         0.008389
--
budget   of a rank                    5.400000  h100-sxm, by memory.budget
arena: 5,330,685,696 bytes, one allocation
