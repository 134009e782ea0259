-- Qwen3 32B.
return model {
  "llama", layers = 64, width = 5120, heads = 64, kv_heads = 8, head = 128, ffn = 25600, vocab = 151936,
  positions = 40960, rope_base = 1e6, norm_eps = 1e-6, qk_norm = true,
  params = 32762123264,
}
