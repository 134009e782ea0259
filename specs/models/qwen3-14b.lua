-- Qwen3 14B.
return model {
  "qwen3", layers = 40, width = 5120, heads = 40, kv_heads = 8, head = 128, ffn = 17408, vocab = 151936,
  positions = 40960, rope_base = 1e6,
  params = 14768307200,
}
