-- torchtitan's Llama: Meta's names, and rotary positions that turn neighbours (0, 1), (2, 3), ... of a head where ours turn
-- halves (0, head / 2), ... . Moments are permuted with the weights that they belong to.

local names = {
  ["model.embed_tokens.weight"] = "tok_embeddings.weight",
  ["model.norm.weight"] = "norm.weight",
  ["lm_head.weight"] = "output.weight",
}
local layer = {
  ["input_layernorm.weight"] = "attention_norm.weight",
  ["self_attn.q_proj.weight"] = "attention.wq.weight",
  ["self_attn.k_proj.weight"] = "attention.wk.weight",
  ["self_attn.v_proj.weight"] = "attention.wv.weight",
  ["self_attn.o_proj.weight"] = "attention.wo.weight",
  ["post_attention_layernorm.weight"] = "ffn_norm.weight",
  ["mlp.gate_proj.weight"] = "feed_forward.w1.weight",
  ["mlp.down_proj.weight"] = "feed_forward.w2.weight",
  ["mlp.up_proj.weight"] = "feed_forward.w3.weight",
}
local rotary = { ["attention.wq.weight"] = true, ["attention.wk.weight"] = true }

return {
  state = {
    param = "%s", master = "%s",
    m = "optimizer.state.%s.exp_avg", v = "optimizer.state.%s.exp_avg_sq",
  },
  ignore = { "optimizer.state.*.step", "optimizer.param_groups.*", "lr_scheduler.*", "train_state.*", "dataloader.*", "step" },

  tensor = function(p)
    if not p.layer then return names[p.name] end
    local name = layer[string.sub(p.name, #"model.layers.*." + 1)]
    if not name then return nil end
    local whole = string.format("layers.%d.%s", p.layer, name)
    if not rotary[name] then return whole end
    local heads, head, width = p.shape[1], p.shape[2], p.shape[3]
    return { whole, view = { heads, head // 2, 2, width }, order = { 1, 3, 2, 4 } }
  end,
}
