-- Llama 3.2 3B, the head tied to the embedding.
return model {
  "llama", layers = 28, width = 3072, heads = 24, kv_heads = 8, head = 128, ffn = 8192, vocab = 128256,
  positions = 131072, rope_base = 5e5, rope_factor = 32, tied = true,
  params = 3212749824,
}
