-- A GPT of 8.3 billion parameters.
-- Shoeybi et al. 2019, arXiv:1909.08053. The vocabulary is GPT-2's, padded to a multiple of 128 x tp 8.
return model { "gpt2", layers = 72, width = 3072, heads = 32, vocab = 51200, params = 8317040640 }
