-- Megatron-LM's torch_dist folders of a GPT with learned positions, biases and a tied head: layers lie along axis 0 of a tensor, and q, k
-- and v of each head follow each other where ours have all heads of q first. Norms are where Transformer Engine has them, in the linear
-- layers after them. Optimizer states are those of the distributed optimizer in fully_sharded_model_space.

local whole = {
  ["wpe.weight"] = "embedding.position_embeddings.weight",
  ["ln_f.weight"] = "decoder.final_layernorm.weight", ["ln_f.bias"] = "decoder.final_layernorm.bias",
}
local layer = {
  ["ln_1.weight"] = "self_attention.linear_qkv.layer_norm_weight", ["ln_1.bias"] = "self_attention.linear_qkv.layer_norm_bias",
  ["attn.c_proj.weight"] = "self_attention.linear_proj.weight", ["attn.c_proj.bias"] = "self_attention.linear_proj.bias",
  ["ln_2.weight"] = "mlp.linear_fc1.layer_norm_weight", ["ln_2.bias"] = "mlp.linear_fc1.layer_norm_bias",
  ["mlp.c_fc.weight"] = "mlp.linear_fc1.weight", ["mlp.c_fc.bias"] = "mlp.linear_fc1.bias",
  ["mlp.c_proj.weight"] = "mlp.linear_fc2.weight", ["mlp.c_proj.bias"] = "mlp.linear_fc2.bias",
}

return {
  state = {
    param = "%s", master = "optimizer.state.fp32_param.%s",
    m = "optimizer.state.exp_avg.%s", v = "optimizer.state.exp_avg_sq.%s",
  },
  ignore = { "*._extra_state*", "optimizer.state.step*", "optimizer.param_groups*", "opt_param_scheduler*", "rng_state*", "rerun_state_machine*" },

  tensor = function(p, shapes)
    if whole[p.name] then return whole[p.name] end
    if p.name == "wte.weight" then
      local name = "embedding.word_embeddings.weight" -- padded to a multiple of 128 x tp
      return { name, view = { theirs(name)[1], p.shape[2] }, take = { { 1, 0, p.shape[1] } }, rest = "padding" }
    end
    local name = string.sub(p.name, #"h.*." + 1)
    local view, order = { shapes.layers }, { 1 }
    for i, size in ipairs(p.shape) do view[i + 1], order[i + 1] = size, i + 1 end
    if name == "attn.c_attn.weight" or name == "attn.c_attn.bias" then
      view[2], view[3] = p.shape[2], p.shape[1] -- heads, then q, k and v
      order[2], order[3] = 3, 2
      name = "self_attention.linear_qkv." .. string.sub(name, #"attn.c_attn." + 1)
    else
      name = layer[name]
    end
    if not name then return nil end
    return { "decoder.layers." .. name, view = view, take = { { 1, p.layer, 1 } }, order = order }
  end,
}
