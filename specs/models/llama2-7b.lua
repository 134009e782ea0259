-- Llama 2 7B.
return model { "llama", layers = 32, width = 4096, heads = 32, ffn = 11008, vocab = 32000, params = 6738415616 }
