-- Qwen2.5 7B.
return model {
  "llama", layers = 28, width = 3584, heads = 28, kv_heads = 4, ffn = 18944, vocab = 152064,
  positions = 131072, rope_base = 1e6, norm_eps = 1e-6, qkv_bias = true,
  params = 7615616512,
}
