#!/usr/bin/env python3
"""Makes FOLDER with the config.json and sharded files of Llama 3 70B, in their full sizes: bf16 zeros, which take no room on the disk.

    sparse.py FOLDER
"""
import json
import os
import struct
import sys

LAYERS, WIDTH, FFN, VOCAB, HEADS, KV_HEADS, SHARD_BYTES = 80, 8192, 28672, 128256, 64, 8, 5e9


def tensors():
    kv = WIDTH // HEADS * KV_HEADS
    yield "model.embed_tokens.weight", [VOCAB, WIDTH]
    for layer in range(LAYERS):
        for name, shape in (("self_attn.q_proj", [WIDTH, WIDTH]), ("self_attn.k_proj", [kv, WIDTH]), ("self_attn.v_proj", [kv, WIDTH]),
                            ("self_attn.o_proj", [WIDTH, WIDTH]), ("mlp.gate_proj", [FFN, WIDTH]), ("mlp.up_proj", [FFN, WIDTH]),
                            ("mlp.down_proj", [WIDTH, FFN]), ("input_layernorm", [WIDTH]), ("post_attention_layernorm", [WIDTH])):
            yield "model.layers.%d.%s.weight" % (layer, name), shape
    yield "model.norm.weight", [WIDTH]
    yield "lm_head.weight", [VOCAB, WIDTH]


def main(folder):
    shards = [{}]
    used = 0
    for name, shape in tensors():
        size = 2
        for extent in shape:
            size *= extent
        if used > 0 and used + size > SHARD_BYTES:
            shards.append({})
            used = 0
        shards[-1][name] = {"dtype": "BF16", "shape": shape, "data_offsets": [used, used + size]}
        used += size
    os.makedirs(folder)
    weight_map = {}
    for i, shard in enumerate(shards):
        file_name = "model-%05d-of-%05d.safetensors" % (i + 1, len(shards))
        header = json.dumps(shard).encode()
        with open(os.path.join(folder, file_name), "wb") as file:
            file.write(struct.pack("<Q", len(header)) + header)
            file.truncate(8 + len(header) + max(t["data_offsets"][1] for t in shard.values()))
        weight_map.update((name, file_name) for name in shard)
    with open(os.path.join(folder, "model.safetensors.index.json"), "w") as file:
        json.dump({"weight_map": weight_map}, file)
    with open(os.path.join(folder, "config.json"), "w") as file:
        json.dump({"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": WIDTH, "intermediate_size": FFN,
                   "num_hidden_layers": LAYERS, "num_attention_heads": HEADS, "num_key_value_heads": KV_HEADS, "vocab_size": VOCAB,
                   "max_position_embeddings": 8192, "rms_norm_eps": 1e-5, "rope_theta": 500000.0, "hidden_act": "silu",
                   "tie_word_embeddings": False, "torch_dtype": "bfloat16"}, file)


if __name__ == "__main__":
    main(sys.argv[1])
