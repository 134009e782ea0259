-- RUN: help gpt2-124m
-- >>> exit 0
gpt2-124m: a model
    GPT-2 small: 124 million parameters.
    model = { "gpt2-124m", ... }
    return model { "gpt2", layers = 12, width = 768, heads = 12, params =
        124439808 }
    file SPECS/models/gpt2-124m.lua
