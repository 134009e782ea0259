-- Mistral 7B v0.1 (arXiv:2310.06825).
return model {
  "mistral", layers = 32, width = 4096, heads = 32, kv_heads = 8, ffn = 14336, vocab = 32000,
  positions = 32768, window = 4096,
  params = 7241732096,
}
