-- Qwen2.5 72B.
return model {
  "qwen2", layers = 80, width = 8192, heads = 64, kv_heads = 8, ffn = 29568, vocab = 152064,
  positions = 131072, rope_base = 1e6,
  params = 72706203648,
}
