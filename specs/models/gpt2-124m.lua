-- GPT-2 small: 124 million parameters.
return model { "gpt2", layers = 12, width = 768, heads = 12, params = 124439808 }
