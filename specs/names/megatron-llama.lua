-- Megatron-LM's torch_dist folders of a Llama (--swiglu, --normalization RMSNorm, no biases, rotary halves as ours): layers lie along
-- axis 0 of a tensor, q, k and v of a group of heads follow each other, and so do gate and up. Norms are where Transformer Engine has
-- them, in the linear layers after them. Optimizer states are those of the distributed optimizer in fully_sharded_model_space.

local whole = {
  ["model.norm.weight"] = "decoder.final_layernorm.weight",
}
local padded = { -- the vocabulary is padded to a multiple of 128 x tp
  ["model.embed_tokens.weight"] = "embedding.word_embeddings.weight",
  ["lm_head.weight"] = "output_layer.weight",
}
local layer = {
  ["input_layernorm.weight"] = "self_attention.linear_qkv.layer_norm_weight",
  ["self_attn.o_proj.weight"] = "self_attention.linear_proj.weight",
  ["post_attention_layernorm.weight"] = "mlp.linear_fc1.layer_norm_weight",
  ["mlp.down_proj.weight"] = "mlp.linear_fc2.weight",
}
local prefix = "model.layers.*."

-- Of dims of a parameter the view of all layers, of which it has one.
local function stacked(p, shapes, name, view, take, order)
  local sizes, dims = { shapes.layers }, { 1 }
  for i, size in ipairs(view) do sizes[i + 1] = size end
  for i = 1, #view do dims[i + 1] = (order and order[i] or i) + 1 end
  local takes = { { 1, p.layer, 1 } }
  if take then takes[2] = { take[1] + 1, take[2], take[3] } end
  return { "decoder.layers." .. name, view = sizes, take = takes, order = dims }
end

return {
  state = {
    param = "%s", master = "optimizer.state.fp32_param.%s",
    m = "optimizer.state.exp_avg.%s", v = "optimizer.state.exp_avg_sq.%s",
  },
  ignore = { "*._extra_state*", "optimizer.state.step*", "optimizer.param_groups*", "opt_param_scheduler*", "rng_state*", "rerun_state_machine*" },

  tensor = function(p, shapes)
    if whole[p.name] then return whole[p.name] end
    if padded[p.name] then
      return { padded[p.name], view = { theirs(padded[p.name])[1], p.shape[2] }, take = { { 1, 0, p.shape[1] } }, rest = "padding" }
    end
    local name = string.sub(p.name, #prefix + 1)
    if layer[name] then return stacked(p, shapes, layer[name], p.shape) end
    local heads, kv = shapes[prefix .. "self_attn.q_proj.weight"][1], shapes[prefix .. "self_attn.k_proj.weight"][1]
    local group = heads // kv
    local part = ({
      ["self_attn.q_proj.weight"] = { 0, group }, ["self_attn.k_proj.weight"] = { group, 1 }, ["self_attn.v_proj.weight"] = { group + 1, 1 },
    })[name]
    if part then
      return stacked(p, shapes, "self_attention.linear_qkv.weight", { kv, group + 2, p.shape[2], p.shape[3] }, { 2, part[1], part[2] })
    end
    local half = ({ ["mlp.gate_proj.weight"] = 0, ["mlp.up_proj.weight"] = 1 })[name]
    if half then
      return stacked(p, shapes, "mlp.linear_fc1.weight", { 2, p.shape[1], p.shape[2] }, { 1, half, 1 })
    end
  end,
}
