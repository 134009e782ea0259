-- The same text through a Llama-shaped model: RMSNorm, rotary positions, two key-value heads for four heads, SwiGLU.
-- Rotary positions have no table, so nothing but the job says how long a sequence is.
return job { "./tiny.lua",
  model = { "llama", layers = 4, width = 128, heads = 4, kv_heads = 2, ffn = 384, vocab = 256 },
  train = { context = 256 },
}
