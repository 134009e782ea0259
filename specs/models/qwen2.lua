-- Qwen2 and Qwen2.5: llama with biases on q, k and v. Yang et al. 2024 (arXiv:2407.10671, 2412.15115).
return model {
  "llama", qkv_bias = true, norm_eps = 1e-6, rope_base = 1000000, positions = 32768,
  huggingface = {
    class = "Qwen2ForCausalLM", model_type = "qwen2",
    config = {
      layers = "num_hidden_layers", width = "hidden_size", heads = "num_attention_heads",
      kv_heads = { "num_key_value_heads", absent = "heads" },
      ffn = "intermediate_size", vocab = "vocab_size", positions = "max_position_embeddings",
      norm_eps = { "rms_norm_eps", absent = 1e-6 }, tied = { "tie_word_embeddings", absent = false },
      rope = "rope",
    },
    must = { hidden_act = "silu", use_sliding_window = false, layer_types = "full_attention" },
    unused = { "sliding_window", "max_window_layers" }, -- of windows, which are not used
    drop = { "*.rotary_emb.inv_freq" },
    tied = { ["lm_head.weight"] = "model.embed_tokens.weight" },
  },
}
