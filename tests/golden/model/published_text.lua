return model { "gpt2-124m", params = "124M", [2] = "llama" }
-- >>> expected
-- published_text.lua:1:8: error[not-a-model]: [2]: expected a size: name = number,
--     true or false, or a text
--     1 | return model { "gpt2-124m", params = "124M", [2] = "llama" }
--       |        ^~~~~
-- published_text.lua:1:29: error[not-a-model]: params: expected the number of
--     parameters
--     1 | return model { "gpt2-124m", params = "124M", [2] = "llama" }
--       |                             ^~~~~~
