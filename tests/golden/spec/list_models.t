-- RUN: list models
-- >>> exit 0
  gpt2            GPT-2 and GPT-3: normalisation before each half of a block,
                  learned positions, tanh GELU, biases everywhere, the head tied
                  to the embedding
  gpt2-1.5b       GPT-2 XL: 1.56 billion parameters
  gpt2-124m       GPT-2 small: 124 million parameters
  gpt2-355m       GPT-2 medium: 355 million parameters
  gpt2-774m       GPT-2 large: 774 million parameters
  gpt3-175b       GPT-3: 175 billion parameters
  llama           Llama 2, 3, 3.1 and 3.2: RMSNorm before each half of a block,
                  rotary positions, grouped-query attention, SwiGLU, no biases
  llama2-70b      Llama 2 70B, grouped queries
  llama2-7b       Llama 2 7B
  llama3-405b     Llama 3.1 405B, by its other name
  llama3-70b      Llama 3 70B
  llama3-8b       Llama 3 8B, as published first: 8,192 positions
  llama3.1-405b   Llama 3.1 405B
  llama3.1-70b    Llama 3.1 70B
  llama3.1-8b     Llama 3.1 8B
  llama3.2-1b     Llama 3.2 1B, the head tied to the embedding
  llama3.2-3b     Llama 3.2 3B, the head tied to the embedding
  megatron-1t     A GPT of 1 trillion parameters
  megatron-22b    A GPT of 22 billion parameters
  megatron-530b   A GPT of 530 billion parameters
  megatron-8.3b   A GPT of 8.3 billion parameters
  mistral         Mistral: llama, with a class of its own and, in 7B v0.1, a
                  window
  mistral-7b      Mistral 7B v0.1 (arXiv:2310.06825)
  mistral-7b-v0.3 Mistral 7B v0.3: no window
  qwen2           Qwen2 and Qwen2.5: llama with biases on q, k and v
  qwen2.5-0.5b    Qwen2.5 0.5B, the head tied to the embedding
  qwen2.5-1.5b    Qwen2.5 1.5B, the head tied to the embedding
  qwen2.5-14b     Qwen2.5 14B
  qwen2.5-32b     Qwen2.5 32B
  qwen2.5-3b      Qwen2.5 3B, the head tied to the embedding
  qwen2.5-72b     Qwen2.5 72B
  qwen2.5-7b      Qwen2.5 7B
  qwen3           Qwen3: llama with q and k normalised over each head
  qwen3-0.6b      Qwen3 0.6B, the head tied to the embedding
  qwen3-1.7b      Qwen3 1.7B, the head tied to the embedding
  qwen3-14b       Qwen3 14B
  qwen3-32b       Qwen3 32B
  qwen3-4b        Qwen3 4B, the head tied to the embedding
  qwen3-8b        Qwen3 8B

lockstep help NAME says more
