-- Qwen2.5 32B.
return model {
  "qwen2", layers = 64, width = 5120, heads = 40, kv_heads = 8, ffn = 27648, vocab = 152064,
  positions = 131072, rope_base = 1e6,
  params = 32763876352,
}
