-- GPT-2 and GPT-3: normalisation before each half of a block, learned positions, tanh GELU, biases everywhere,
-- the head tied to the embedding. Radford et al. 2019; Brown et al. 2020.
-- Parameters carry the names of Hugging Face's GPT2LMHeadModel.

local function block(x, m)
  -- Each layer adds to the residual stream twice, so what it adds begins smaller with depth.
  local residual = { init = { "normal", std = 0.02 / math.sqrt(2 * m.layers) } }

  local qkv = linear("attn.c_attn", layernorm("ln_1", x, { eps = m.norm_eps }), { "qkv", "heads", "head" })
  local q, k, v = split(qkv, "qkv")
  local a = attention(q, k, v, { causal = true, dropout = m.dropout })
  x = x + dropout(linear("attn.c_proj", a, "width", residual), m.dropout)

  local h = gelu(linear("mlp.c_fc", layernorm("ln_2", x, { eps = m.norm_eps }), "ffn"))
  return x + dropout(linear("mlp.c_proj", h, "width", residual), m.dropout)
end

return model {
  sizes = {
    layers = required, width = required, heads = required,
    vocab = 50257, positions = 1024, dropout = 0, norm_eps = 1e-5, qkv = 3,
    head = function(m)
      assert(m.width % m.heads == 0, "heads must divide width")
      return m.width // m.heads
    end,
    ffn = function(m) return 4 * m.width end,
  },
  bias = true,
  init = { "normal", std = 0.02 },

  forward = function(m)
    assert(m.qkv == 3, "qkv counts query, key and value: it is 3")
    local tokens = input("tokens", { "batch", "seq" }, "ids")
    local targets = input("targets", { "batch", "seq" }, "ids")

    local wte = weight("wte.weight", { "vocab", "width" })
    local x = embedding(wte, tokens) + embedding("wpe", positions(tokens), { "positions", "width" })
    x = stack("h", m.layers, dropout(x, m.dropout), block)
    return cross_entropy(linear(wte, layernorm("ln_f", x, { eps = m.norm_eps })), targets)
  end,

  huggingface = {
    class = "GPT2LMHeadModel", model_type = "gpt2", prefix = "transformer.",
    transposed = { "c_attn", "c_proj", "c_fc" }, -- Conv1D keeps [in, out]
    config = {
      layers = "n_layer", width = "n_embd", heads = "n_head", vocab = "vocab_size", positions = "n_positions",
      ffn = { "n_inner", absent = "derived" }, norm_eps = { "layer_norm_epsilon", absent = 1e-5 },
      dropout = { "resid_pdrop", "embd_pdrop", "attn_pdrop", absent = 0.1 },
    },
    must = {
      activation_function = "gelu_new", scale_attn_weights = true, scale_attn_by_inverse_layer_idx = false,
      add_cross_attention = false, tie_word_embeddings = true,
    },
    unused = { "n_ctx", "reorder_and_upcast_attn", "summary_*", "task_specific_params", "gradient_checkpointing" },
    drop = { "h.*.attn.bias", "h.*.attn.masked_bias" }, -- masks [1, 1, positions, positions]
    tied = { ["lm_head.weight"] = "wte.weight" },
  },
}
