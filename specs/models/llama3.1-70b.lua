-- Llama 3.1 70B.
return model { "llama3-70b", positions = 131072, rope_factor = 8, params = 70553706496 }
