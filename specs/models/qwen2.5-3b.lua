-- Qwen2.5 3B, the head tied to the embedding.
return model {
  "qwen2", layers = 36, width = 2048, heads = 16, kv_heads = 2, ffn = 11008, vocab = 151936,
  positions = 32768, rope_base = 1e6, tied = true,
  params = 3085938688,
}
