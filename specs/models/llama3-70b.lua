-- Llama 3 70B.
return model {
  "llama", layers = 80, width = 8192, heads = 64, kv_heads = 8, ffn = 28672, vocab = 128256, positions = 8192, rope_base = 5e5,
  params = 70553706496,
}
