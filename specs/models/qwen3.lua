-- Qwen3: llama with q and k normalised over each head. Yang et al. 2025 (arXiv:2505.09388).
return model {
  "llama", qk_norm = true, head = 128, norm_eps = 1e-6, rope_base = 1000000, positions = 32768,
  huggingface = {
    class = "Qwen3ForCausalLM", model_type = "qwen3",
    config = {
      layers = "num_hidden_layers", width = "hidden_size", heads = "num_attention_heads",
      kv_heads = { "num_key_value_heads", absent = "heads" }, head = { "head_dim", absent = 128 },
      ffn = "intermediate_size", vocab = "vocab_size", positions = "max_position_embeddings",
      norm_eps = { "rms_norm_eps", absent = 1e-6 }, tied = { "tie_word_embeddings", absent = false },
      rope = "rope",
    },
    must = { hidden_act = "silu", attention_bias = false, use_sliding_window = false, layer_types = "full_attention" },
    unused = { "sliding_window", "max_window_layers" }, -- of windows, which are not used
    drop = { "*.rotary_emb.inv_freq" },
    tied = { ["lm_head.weight"] = "model.embed_tokens.weight" },
  },
}
