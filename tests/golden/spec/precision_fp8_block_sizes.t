-- RUN: explain job.lua | grep -A2 ^linear
return job {
  model     = { "gpt2", layers = 1, width = 128, heads = 2, vocab = 64, positions = 128 },
  data      = "synthetic",
  train     = { batch = "1 sequences", steps = 2 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = { "bf16", linear = { "fp8", scaling = "block" } },
  parallel  = { tp = 2 },
  cluster   = { "here", devices = 2, device = "h100-sxm" },
}
-- >>> exit 0
linear   fp8                in stacks; scales of 1 x 128, of weights 128 x 128
         h.*.attn.c_attn    stays in bf16: a size is no multiple of 128
         h.*.attn.c_proj    stays in bf16: a size is no multiple of 128
