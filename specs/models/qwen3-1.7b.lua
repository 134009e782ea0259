-- Qwen3 1.7B, the head tied to the embedding.
return model {
  "qwen3", layers = 28, width = 2048, heads = 16, kv_heads = 8, head = 128, ffn = 6144, vocab = 151936,
  positions = 40960, rope_base = 1e6, tied = true,
  params = 1720574976,
}
