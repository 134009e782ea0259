-- Qwen2.5 0.5B, the head tied to the embedding.
return model {
  "qwen2", layers = 24, width = 896, heads = 14, kv_heads = 2, ffn = 4864, vocab = 151936,
  positions = 32768, rope_base = 1e6, tied = true,
  params = 494032768,
}
