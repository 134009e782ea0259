-- Qwen3 4B, the head tied to the embedding.
return model {
  "qwen3", layers = 36, width = 2560, heads = 32, kv_heads = 8, head = 128, ffn = 9728, vocab = 151936,
  positions = 40960, rope_base = 1e6, tied = true,
  params = 4022468096,
}
