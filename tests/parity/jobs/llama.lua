-- The same job with RMSNorm, rotary positions, two key-value heads for four heads, SwiGLU and a head of its own.
return job { "./gpt2.lua",
  model = { "llama", layers = 2, width = 32, heads = 4, kv_heads = 2, ffn = 64, vocab = 64 },
  train = { context = 32 },
}
