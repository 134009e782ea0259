-- Llama 3.1 8B.
return model { "llama3-8b", positions = 131072, rope_factor = 8, params = 8030261248 }
