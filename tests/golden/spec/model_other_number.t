return job {
  model     = "llama3-7b",
  data      = "synthetic",
  train     = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:2:15: error[unknown-preset]: no model is named 'llama3-7b'; the library
    has: gpt2 gpt2-1.5b gpt2-124m gpt2-355m gpt2-774m gpt3-175b llama llama2-70b
    llama2-7b llama3-405b llama3-70b llama3-8b llama3.1-405b llama3.1-70b
    llama3.1-8b llama3.2-1b llama3.2-3b megatron-1t megatron-22b megatron-530b
    megatron-8.3b mistral mistral-7b mistral-7b-v0.3 qwen2 qwen2.5-0.5b
    qwen2.5-1.5b qwen2.5-14b qwen2.5-32b qwen2.5-3b qwen2.5-72b qwen2.5-7b qwen3
    qwen3-0.6b qwen3-1.7b qwen3-14b qwen3-32b qwen3-4b qwen3-8b
    2 |   model     = "llama3-7b",
      |               ^~~~~~~~~~~
