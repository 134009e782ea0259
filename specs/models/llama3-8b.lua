-- Llama 3 8B, as published first: 8,192 positions.
return model {
  "llama", layers = 32, width = 4096, heads = 32, kv_heads = 8, ffn = 14336, vocab = 128256, positions = 8192, rope_base = 5e5,
  params = 8030261248,
}
