-- Qwen2.5 14B.
return model {
  "qwen2", layers = 48, width = 5120, heads = 40, kv_heads = 8, ffn = 13824, vocab = 152064,
  positions = 131072, rope_base = 1e6,
  params = 14770033664,
}
