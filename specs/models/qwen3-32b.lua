-- Qwen3 32B.
return model {
  "qwen3", layers = 64, width = 5120, heads = 64, kv_heads = 8, head = 128, ffn = 25600, vocab = 151936,
  positions = 40960, rope_base = 1e6,
  params = 32762123264,
}
