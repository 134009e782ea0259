-- Qwen3 8B.
return model {
  "qwen3", layers = 36, width = 4096, heads = 32, kv_heads = 8, head = 128, ffn = 12288, vocab = 151936,
  positions = 40960, rope_base = 1e6,
  params = 8190735360,
}
