-- Qwen3 0.6B, the head tied to the embedding.
return model {
  "qwen3", layers = 28, width = 1024, heads = 16, kv_heads = 8, head = 128, ffn = 3072, vocab = 151936,
  positions = 40960, rope_base = 1e6, tied = true,
  params = 596049920,
}
