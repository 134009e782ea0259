-- Llama 3.1 405B.
return model {
  "llama", layers = 126, width = 16384, heads = 128, kv_heads = 8, ffn = 53248, vocab = 128256,
  positions = 131072, rope_base = 5e5, rope_factor = 8,
  params = 405853388800,
}
