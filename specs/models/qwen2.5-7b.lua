-- Qwen2.5 7B.
return model {
  "qwen2", layers = 28, width = 3584, heads = 28, kv_heads = 4, ffn = 18944, vocab = 152064,
  positions = 131072, rope_base = 1e6,
  params = 7615616512,
}
