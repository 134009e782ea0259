-- Mistral: llama, with a class of its own and, in 7B v0.1, a window. Jiang et al. 2023 (arXiv:2310.06825).
return model {
  "llama", positions = 32768,
  huggingface = {
    class = "MistralForCausalLM", model_type = "mistral",
    config = {
      layers = "num_hidden_layers", width = "hidden_size", heads = "num_attention_heads",
      kv_heads = { "num_key_value_heads", absent = "heads" }, head = { "head_dim", absent = "derived" },
      ffn = "intermediate_size", vocab = "vocab_size", positions = "max_position_embeddings",
      norm_eps = { "rms_norm_eps", absent = 1e-6 }, tied = { "tie_word_embeddings", absent = false },
      window = { "sliding_window", absent = 4096, null = 0 },
      rope = "rope",
    },
    must = { hidden_act = "silu" },
    drop = { "*.rotary_emb.inv_freq" },
    tied = { ["lm_head.weight"] = "model.embed_tokens.weight" },
  },
}
