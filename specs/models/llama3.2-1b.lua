-- Llama 3.2 1B, the head tied to the embedding.
return model {
  "llama", layers = 16, width = 2048, heads = 32, kv_heads = 8, head = 64, ffn = 8192, vocab = 128256,
  positions = 131072, rope_base = 5e5, rope_factor = 32, tied = true,
  params = 1235814400,
}
