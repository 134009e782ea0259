-- The job of the pictures of docs/parallel.md: four stages of a Llama that is large enough to be busy.
return job { "./parallel.lua",
  model    = { "llama", layers = 8, width = 4096, heads = 32, kv_heads = 8, ffn = 11008, vocab = 8192 },
  train    = { batch = "8 sequences", context = 4096 },
  parallel = { pp = 4 },
}
