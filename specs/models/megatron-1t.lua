-- A GPT of 1 trillion parameters.
-- Also the largest model of Narayanan et al. 2021, arXiv:2104.04473: 1008.0 billion parameters, on 3,072 A100.
return model { "gpt2", layers = 128, width = 25600, heads = 160, positions = 2048, vocab = 51200, params = 1008038758400 }
