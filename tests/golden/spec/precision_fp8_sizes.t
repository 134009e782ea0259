-- RUN: explain job.lua | grep -A4 ^linear
return job {
  model     = { "gpt2", layers = 1, width = 40, heads = 2, vocab = 64, positions = 16 },
  data      = "synthetic",
  train     = { batch = "1 sequences", steps = 2 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = { "bf16", linear = "fp8" },
  cluster   = { "here", device = "h100-sxm" },
}
-- >>> exit 0
linear   fp8                in stacks; one scale a tensor
         h.*.attn.c_attn    stays in bf16: a size is no multiple of 16
         h.*.attn.c_proj    stays in bf16: a size is no multiple of 16
         h.*.mlp.c_fc       stays in bf16: a size is no multiple of 16
         h.*.mlp.c_proj     stays in bf16: a size is no multiple of 16
