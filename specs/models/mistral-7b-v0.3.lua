-- Mistral 7B v0.3: no window.
return model {
  "mistral", layers = 32, width = 4096, heads = 32, kv_heads = 8, ffn = 14336, vocab = 32768,
  positions = 32768, rope_base = 1e6,
  params = 7248023552,
}
