-- A GPT of 530 billion parameters.
return model { "gpt2", layers = 105, width = 20480, heads = 128, positions = 2048, vocab = 51200, params = 529600819200 }
