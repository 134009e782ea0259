-- Llama 2 70B, grouped queries.
return model {
  "llama", layers = 80, width = 8192, heads = 64, kv_heads = 8, ffn = 28672, vocab = 32000,
  params = 68976648192,
}
