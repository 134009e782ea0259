-- A GPT of 22 billion parameters.
-- Korthikanti et al. 2022, arXiv:2205.05198, table 3; so are 530b and 1t.
return model { "gpt2", layers = 48, width = 6144, heads = 64, positions = 2048, vocab = 51200, params = 22074273792 }
