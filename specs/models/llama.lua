-- Llama 2, 3, 3.1 and 3.2: RMSNorm before each half of a block, rotary positions, grouped-query attention, SwiGLU, no biases.
-- Touvron et al. 2023 (arXiv:2307.09288); Grattafiori et al. 2024 (arXiv:2407.21783).
-- Qwen2 and 2.5 add biases to q, k and v (arXiv:2407.10671); Qwen3 has none and normalises each head of q and k (arXiv:2505.09388).
-- Mistral 7B sees the last 4,096 tokens (arXiv:2310.06825).
-- Parameters carry the names of Hugging Face's LlamaForCausalLM.

local function block(x, m)
  local h = rmsnorm("input_layernorm", x, { eps = m.norm_eps })
  local q = linear("self_attn.q_proj", h, { "heads", "head" }, { bias = m.qkv_bias })
  local k = linear("self_attn.k_proj", h, { "kv_heads", "head" }, { bias = m.qkv_bias })
  local v = linear("self_attn.v_proj", h, { "kv_heads", "head" }, { bias = m.qkv_bias })
  if m.qk_norm then
    q = rmsnorm("self_attn.q_norm", q, { eps = m.norm_eps, over = "head" })
    k = rmsnorm("self_attn.k_norm", k, { eps = m.norm_eps, over = "head" })
  end
  local angle = {
    base = m.rope_base, factor = m.rope_factor,
    low_freq = m.rope_low_freq, high_freq = m.rope_high_freq, original_positions = m.rope_original_positions,
  }
  local a = attention(rope(q, angle), rope(k, angle), v, { causal = true, window = m.window })
  x = x + linear("self_attn.o_proj", a, "width")

  h = rmsnorm("post_attention_layernorm", x, { eps = m.norm_eps })
  h = silu(linear("mlp.gate_proj", h, "ffn")) * linear("mlp.up_proj", h, "ffn")
  return x + linear("mlp.down_proj", h, "width")
end

return model {
  sizes = {
    layers = required, width = required, heads = required, ffn = required, vocab = required,
    positions = 4096, tied = false,
    norm_eps = 1e-5, qkv_bias = false, qk_norm = false,
    window = 0, -- a token sees the last `window` tokens; 0: all before it
    rope_base = 10000,
    -- Llama 3.1 was trained on 8192 positions first and then on 16 times as many, slow rotations slowed by a factor.
    rope_factor = 1, rope_low_freq = 1, rope_high_freq = 4, rope_original_positions = 8192,
    kv_heads = function(m) return m.heads end,
    head = function(m)
      assert(m.width % m.heads == 0, "heads must divide width, unless head is given")
      return m.width // m.heads
    end,
  },
  init = { "normal", std = 0.02 },

  forward = function(m)
    local tokens = input("tokens", { "batch", "seq" }, "ids")
    local targets = input("targets", { "batch", "seq" }, "ids")

    local embed = weight("model.embed_tokens.weight", { "vocab", "width" })
    local x = stack("model.layers", m.layers, embedding(embed, tokens), block)
    x = rmsnorm("model.norm", x, { eps = m.norm_eps })
    return cross_entropy(linear(m.tied and embed or "lm_head", x, "vocab"), targets)
  end,

  huggingface = {
    class = "LlamaForCausalLM", model_type = "llama",
    config = {
      layers = "num_hidden_layers", width = "hidden_size", heads = "num_attention_heads",
      kv_heads = { "num_key_value_heads", absent = "heads" }, head = { "head_dim", absent = "derived" },
      ffn = "intermediate_size", vocab = "vocab_size", positions = "max_position_embeddings",
      norm_eps = { "rms_norm_eps", absent = 1e-6 }, tied = { "tie_word_embeddings", absent = false },
      rope = "rope", -- rope_theta and rope_scaling, or rope_parameters
    },
    must = { hidden_act = "silu", attention_bias = false, mlp_bias = false },
    drop = { "*.rotary_emb.inv_freq" },
    tied = { ["lm_head.weight"] = "model.embed_tokens.weight" },
  },
}
