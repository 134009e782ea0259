-- Qwen2.5 1.5B, the head tied to the embedding.
return model {
  "qwen2", layers = 28, width = 1536, heads = 12, kv_heads = 2, ffn = 8960, vocab = 151936,
  positions = 131072, rope_base = 1e6, tied = true,
  params = 1543714304,
}
