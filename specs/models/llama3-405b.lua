-- Llama 3.1 405B.
return model {
  "llama", layers = 126, width = 16384, heads = 128, kv_heads = 8, ffn = 53248, vocab = 128256, positions = 8192, rope_base = 5e5,
  params = 405853388800,
}
