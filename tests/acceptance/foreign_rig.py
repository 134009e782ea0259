"""foreign_rig.py FOLDER -- a small GPT-2 in Hugging Face's format, with tokens: what record_foreign trains with torch, and the test
`foreign` as an imported job. Weights and tokens are those of one generator, so that neither has to be kept."""
import array
import json
import math
import os
import struct
import sys

LAYERS, WIDTH, HEADS, VOCAB, POSITIONS, TOKENS = 2, 16, 2, 64, 16, 20 * 8 * 16 + 1


def stream(seed):
    state = seed
    while True:
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        yield (state >> 40) / 2.0**24


def tokens():
    draw, last, out = stream(3), 0, []
    for _ in range(TOKENS):
        last = (last * 5 + int(next(draw) * 4)) % VOCAB
        out.append(last)
    return out


def shapes():
    yield "wte.weight", (VOCAB, WIDTH)
    yield "wpe.weight", (POSITIONS, WIDTH)
    for i in range(LAYERS):
        for name, shape in (("ln_1.weight", (WIDTH,)), ("ln_1.bias", (WIDTH,)), ("attn.c_attn.weight", (WIDTH, 3 * WIDTH)),
                            ("attn.c_attn.bias", (3 * WIDTH,)), ("attn.c_proj.weight", (WIDTH, WIDTH)), ("attn.c_proj.bias", (WIDTH,)),
                            ("ln_2.weight", (WIDTH,)), ("ln_2.bias", (WIDTH,)), ("mlp.c_fc.weight", (WIDTH, 4 * WIDTH)),
                            ("mlp.c_fc.bias", (4 * WIDTH,)), ("mlp.c_proj.weight", (4 * WIDTH, WIDTH)), ("mlp.c_proj.bias", (WIDTH,))):
            yield f"h.{i}.{name}", shape
    yield "ln_f.weight", (WIDTH,)
    yield "ln_f.bias", (WIDTH,)


def weights():
    draw = stream(1)
    for name, shape in shapes():
        count = math.prod(shape)
        values = [(next(draw) - 0.5) * 0.2 for _ in range(count)]
        if "ln_" in name and name.endswith("weight"):
            values = [1 + v for v in values]
        yield name, shape, array.array("f", values)


if __name__ == "__main__":
    folder = sys.argv[1]
    os.makedirs(folder + "/model", exist_ok=True)
    with open(folder + "/model/config.json", "w", encoding="utf-8") as out:
        json.dump({"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "n_layer": LAYERS, "n_embd": WIDTH, "n_head": HEADS,
                   "vocab_size": VOCAB, "n_positions": POSITIONS, "activation_function": "gelu_new", "layer_norm_epsilon": 1e-5,
                   "resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0, "tie_word_embeddings": True}, out)
    header, body = {}, b""
    for name, shape, values in weights():
        data = values.tobytes()
        header["transformer." + name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    head = json.dumps(header).encode()
    head += b" " * (-len(head) % 8)
    with open(folder + "/model/model.safetensors", "wb") as out:
        out.write(struct.pack("<Q", len(head)) + head + body)
    with open(folder + "/train.bin", "wb") as out:
        array.array("H", tokens()).tofile(out)
