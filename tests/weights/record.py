#!/usr/bin/env python3
"""Makes the tiny models of this folder with transformers, and prints the loss of each and the first logits of its last
token.

    pip install torch transformers && record.py FOLDER

Weights are wide, so that a rotary angle, a bias or a position that is left out costs more than 1 % of the loss. The text is drawn by the
model itself. The loss is that of the files' values: they are loaded as fp32, and all sums are fp64.
"""
import json
import os
import shutil
import sys

import torch
from transformers import (GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM, MistralConfig, MistralForCausalLM,
                          Qwen2Config, Qwen2ForCausalLM, Qwen3Config, Qwen3ForCausalLM)

VOCAB, POSITIONS, ROWS = 64, 32, 4
COMMON = dict(vocab_size=VOCAB, bos_token_id=None, eos_token_id=None, pad_token_id=None)
SIZES = dict(hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
             max_position_embeddings=POSITIONS)


def draw(name, parameter, generator):
    numbers = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
    if parameter.ndim == 1 and "norm" in name or ".ln_" in name and name.endswith("weight"):
        return 1 + 0.3 * numbers
    if parameter.ndim == 1:
        return 0.7 * numbers
    if "embed" in name or "wte" in name:
        return numbers
    if "wpe" in name:
        return 0.8 * numbers
    fan_in = parameter.shape[0] if "c_" in name else parameter.shape[1]
    wide = 3.5 if "q_proj" in name or "k_proj" in name else 2.5 if "lm_head" in name else 1.6
    return wide / fan_in ** 0.5 * numbers


def text_of(model, seed):
    torch.manual_seed(seed)
    ids = torch.randint(0, VOCAB, (ROWS, 1))
    for _ in range(POSITIONS):
        logits = model(ids[:, -POSITIONS:]).logits[:, -1]
        ids = torch.cat([ids, torch.multinomial(torch.softmax(logits, -1), 1)], 1)
    return ids.reshape(-1)


PROMPTS = [[5, 9, 17], [40, 1, 2, 3, 4, 5, 6, 7]]


@torch.no_grad()
def greedy(folder, name, read):
    """The likeliest ids after two prompts, and the logarithms of their probabilities."""
    os.makedirs(os.path.join(folder, "greedy"), exist_ok=True)
    with open(os.path.join(folder, "greedy", name + ".txt"), "w") as file:
        for prompt in PROMPTS:
            ids, logprobs = list(prompt), []
            for _ in range(12):
                last = torch.log_softmax(read(torch.tensor([ids])).logits[0, -1], -1)
                ids.append(int(last.argmax()))
                logprobs.append(float(last.max()))
            print(",".join(map(str, prompt)), ",".join(map(str, ids[len(prompt):])), ",".join(f"{x:.9g}" for x in logprobs), file=file)


@torch.no_grad()
def record(folder, name, kind, config, seed, dtype, **saving):
    torch.manual_seed(seed)
    model, generator = kind(config).double(), torch.Generator().manual_seed(seed)
    for path, parameter in model.named_parameters():
        parameter.copy_(draw(path, parameter, generator))
    place = os.path.join(folder, name)
    shutil.rmtree(place, ignore_errors=True)
    model.to(dtype).save_pretrained(place, **saving)
    os.remove(os.path.join(place, "generation_config.json"))
    read = kind.from_pretrained(place, dtype=torch.float32, attn_implementation="eager").double().eval()
    greedy(folder, name, read)
    ids = text_of(read, seed + 1)
    with open(os.path.join(place, "text.u8"), "wb") as file:
        file.write(bytes(ids.tolist()))
    tell(name, read, ids)


def tell(name, read, ids):
    rows = (len(ids) - 1) // POSITIONS
    tokens = ids[: rows * POSITIONS].reshape(rows, POSITIONS)
    targets = ids[1 : rows * POSITIONS + 1]
    logits = read(tokens).logits.reshape(-1, VOCAB)
    loss = torch.nn.functional.cross_entropy(logits, targets)
    print(name, "%.12f" % loss.item(), *("%.9f" % number for number in logits[-1, :4].tolist()))


@torch.no_grad()
def tell_window(folder, name, window):
    place = os.path.join(folder, name)
    read = MistralForCausalLM.from_pretrained(place, dtype=torch.float32, attn_implementation="eager", sliding_window=window)
    greedy(folder, "window", read.double().eval())
    with open(os.path.join(place, "text.u8"), "rb") as file:
        tell("window", read, torch.tensor(list(file.read())))


def main(folder):
    llama3 = dict(rope_type="llama3", rope_theta=500000.0, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
                  original_max_position_embeddings=16)
    record(folder, "llama", LlamaForCausalLM,
           LlamaConfig(rms_norm_eps=1e-5, rope_parameters=llama3, tie_word_embeddings=False, **SIZES, **COMMON), 1, torch.bfloat16)
    record(folder, "gpt2", GPT2LMHeadModel, GPT2Config(n_embd=32, n_layer=2, n_head=4, n_positions=POSITIONS, **COMMON), 2, torch.float32)
    record(folder, "qwen2", Qwen2ForCausalLM,
           Qwen2Config(rope_parameters=dict(rope_type="default", rope_theta=1e6), tie_word_embeddings=True, use_sliding_window=False,
                       **SIZES, **COMMON), 3, torch.float16, max_shard_size="20KB")
    rope = dict(rope_type="default", rope_theta=1e6)
    record(folder, "qwen3", Qwen3ForCausalLM, Qwen3Config(rope_parameters=rope, tie_word_embeddings=True, head_dim=16, **SIZES, **COMMON),
           4, torch.bfloat16)
    record(folder, "mistral", MistralForCausalLM,
           MistralConfig(rope_parameters=rope, tie_word_embeddings=False, sliding_window=None, **SIZES, **COMMON), 5, torch.bfloat16)
    tell_window(folder, "mistral", 8)


if __name__ == "__main__":
    main(sys.argv[1])
