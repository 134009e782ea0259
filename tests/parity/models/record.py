"""Records what PyTorch computes for four small models: writes gpt2.bin, llama.bin, mlp.bin and losses.bin beside this file.

    python3 record.py            # the tests themselves never need Python
    python3 record.py losses     # losses.bin alone

Weights, biases and gains are random, so that no gradient is special; the test puts them in place of its own initial
values. Each file is "LSMODEL1", then entries {name char[88], count i64, f32[count]}:

    inputs/NAME          what the steps read, [steps, batch, ...]; token ids as numbers, one more than the context
    init/TENSOR          values before step 1
    grad/TENSOR          gradient of step 1: mean loss over the batch, before clipping
    loss/RUN, norm/RUN   of every step; norms are those before clipping
    stray/RUN/TENSOR     |gradient of RUN - grad| / |grad| (Euclidean) in step 1

RUN is one of
    adamw, sgd      f32, with clipping
    half            adamw; f32 master weights, everything that the model computes and keeps in bf16
    autocast        adamw; f32 weights, matrix products in bf16 (torch.autocast)
"""

import os
import struct
import sys

import numpy as np
import torch
import torch.nn.functional as F

STEPS, BATCH, CONTEXT = 20, 4, 32
LAYERS, WIDTH, HEADS, KV_HEADS, HEAD, FFN, VOCAB = 2, 32, 4, 2, 8, 64, 64
INPUTS, OUTPUTS, HIDDEN, SAMPLES = 3, 2, 48, 8
LR, SGD_LR, CLIP, DECAY, BETAS, MOMENTUM = 3e-3, 0.1, 0.5, 0.1, (0.9, 0.95), 0.9
FOLDER = os.path.dirname(os.path.abspath(__file__))

torch.manual_seed(7)
torch.set_num_threads(1)


def weight(*shape, std=0.08):
    return torch.randn(*shape) * std


def gain(n):
    return 1 + 0.1 * torch.randn(n)


def text():
    """Sequences with something to learn: mostly 5 * id + 3, sometimes anything."""
    ids = torch.randint(0, VOCAB, (STEPS, BATCH, CONTEXT + 1))
    for t in range(1, CONTEXT + 1):
        follows = torch.rand(STEPS, BATCH) < 0.8
        ids[:, :, t] = torch.where(follows, (5 * ids[:, :, t - 1] + 3) % VOCAB, ids[:, :, t])
    return ids


# ---- GPT-2: specs/models/gpt2.lua


def gpt2_init():
    p = {"wte.weight": weight(VOCAB, WIDTH), "wpe.weight": weight(CONTEXT, WIDTH)}
    for l in range(LAYERS):
        for name in ("ln_1", "ln_2"):
            p[f"h.{l}.{name}.weight"], p[f"h.{l}.{name}.bias"] = gain(WIDTH), weight(WIDTH)
        for name, o, i in (("attn.c_attn", 3 * WIDTH, WIDTH), ("attn.c_proj", WIDTH, WIDTH),
                           ("mlp.c_fc", 4 * WIDTH, WIDTH), ("mlp.c_proj", WIDTH, 4 * WIDTH)):
            p[f"h.{l}.{name}.weight"], p[f"h.{l}.{name}.bias"] = weight(o, i), weight(o)
    p["ln_f.weight"], p["ln_f.bias"] = gain(WIDTH), weight(WIDTH)
    return p


def gpt2_loss(p, inputs, step):
    ids = inputs["tokens"][step]
    tokens, targets = ids[:, :-1], ids[:, 1:]

    def linear(name, x):
        return F.linear(x, p[name + ".weight"], p[name + ".bias"])

    def norm(name, x):
        return F.layer_norm(x, (WIDTH,), p[name + ".weight"], p[name + ".bias"], 1e-5)

    x = p["wte.weight"][tokens] + p["wpe.weight"][torch.arange(CONTEXT)]
    for l in range(LAYERS):
        h = f"h.{l}."
        q, k, v = (t.view(BATCH, CONTEXT, HEADS, HEAD).transpose(1, 2)
                   for t in linear(h + "attn.c_attn", norm(h + "ln_1", x)).split(WIDTH, -1))
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + linear(h + "attn.c_proj", a.transpose(1, 2).reshape(BATCH, CONTEXT, WIDTH))
        m = F.gelu(linear(h + "mlp.c_fc", norm(h + "ln_2", x)), approximate="tanh")
        x = x + linear(h + "mlp.c_proj", m)
    logits = F.linear(norm("ln_f", x), p["wte.weight"])
    return F.cross_entropy(logits.float().view(-1, VOCAB), targets.reshape(-1))


# ---- Llama: specs/models/llama.lua


def llama_init():
    p = {"model.embed_tokens.weight": weight(VOCAB, WIDTH)}
    for l in range(LAYERS):
        h = f"model.layers.{l}."
        p[h + "input_layernorm.weight"] = gain(WIDTH)
        for name, o in (("q", HEADS), ("k", KV_HEADS), ("v", KV_HEADS)):
            p[h + f"self_attn.{name}_proj.weight"] = weight(o * HEAD, WIDTH)
        p[h + "self_attn.o_proj.weight"] = weight(WIDTH, HEADS * HEAD)
        p[h + "post_attention_layernorm.weight"] = gain(WIDTH)
        p[h + "mlp.gate_proj.weight"] = weight(FFN, WIDTH)
        p[h + "mlp.up_proj.weight"] = weight(FFN, WIDTH)
        p[h + "mlp.down_proj.weight"] = weight(WIDTH, FFN)
    p["model.norm.weight"] = gain(WIDTH)
    p["lm_head.weight"] = weight(VOCAB, WIDTH)
    return p


def rope(x):
    """[batch, heads, seq, head]; rotate-half, base 10000."""
    half = HEAD // 2
    angle = torch.arange(CONTEXT)[:, None] * 10000.0 ** (-torch.arange(half) * 2.0 / HEAD)
    cos, sin = torch.cat([angle.cos()] * 2, -1), torch.cat([angle.sin()] * 2, -1)
    turned = torch.cat([-x[..., half:], x[..., :half]], -1)
    return (x.float() * cos + turned.float() * sin).to(x.dtype)


def llama_loss(p, inputs, step):
    ids = inputs["tokens"][step]
    tokens, targets = ids[:, :-1], ids[:, 1:]

    def linear(name, x):
        return F.linear(x, p[name + ".weight"])

    def norm(name, x):
        wide = x.float()
        y = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-5) * p[name + ".weight"]
        return y.to(x.dtype)

    def heads(name, x, count):
        return linear(name, x).view(BATCH, CONTEXT, count, HEAD).transpose(1, 2)

    x = p["model.embed_tokens.weight"][tokens]
    for l in range(LAYERS):
        h = f"model.layers.{l}."
        n = norm(h + "input_layernorm", x)
        q, k = rope(heads(h + "self_attn.q_proj", n, HEADS)), rope(heads(h + "self_attn.k_proj", n, KV_HEADS))
        v = heads(h + "self_attn.v_proj", n, KV_HEADS)
        k, v = (t.repeat_interleave(HEADS // KV_HEADS, 1) for t in (k, v))
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + linear(h + "self_attn.o_proj", a.transpose(1, 2).reshape(BATCH, CONTEXT, WIDTH))
        n = norm(h + "post_attention_layernorm", x)
        x = x + linear(h + "mlp.down_proj", F.silu(linear(h + "mlp.gate_proj", n)) * linear(h + "mlp.up_proj", n))
    logits = linear("lm_head", norm("model.norm", x))
    return F.cross_entropy(logits.float().view(-1, VOCAB), targets.reshape(-1))


# ---- a regressor: examples/mlp.lua


def mlp_init():
    p = {}
    for name, o, i in (("first", WIDTH, INPUTS), *((f"blocks.{l}.{n}", *s) for l in range(LAYERS)
                       for n, s in (("up", (HIDDEN, WIDTH)), ("down", (WIDTH, HIDDEN)))), ("last", OUTPUTS, WIDTH)):
        p[name + ".weight"], p[name + ".bias"] = weight(o, i, std=i ** -0.5), weight(o)
    return p


def mlp_loss(p, inputs, step):
    def linear(name, x):
        return F.linear(x, p[name + ".weight"], p[name + ".bias"])

    h = F.relu(linear("first", inputs["x"][step].to(p["first.weight"].dtype)))
    for l in range(LAYERS):
        h = h + linear(f"blocks.{l}.down", F.relu(linear(f"blocks.{l}.up", h)))
    return F.mse_loss(linear("last", h).float(), inputs["y"][step])


# ---- a sum of losses: jobs/heads.lua. Each is a mean over the targets of the whole batch that count.

KINDS, SIDES, SIDE = 4, 3, 0.3


def losses_init():
    p = {}
    for name, o, i in (("first", WIDTH, INPUTS), ("early", SIDES, WIDTH), ("head", KINDS, WIDTH),
                       ("last", OUTPUTS, WIDTH), *((f"blocks.{l}.{n}", *s) for l in range(LAYERS)
                       for n, s in (("up", (HIDDEN, WIDTH)), ("down", (WIDTH, HIDDEN))))):
        p[name + ".weight"], p[name + ".bias"] = weight(o, i, std=i ** -0.5), weight(o)
    return p


def losses_loss(p, inputs, step):
    def linear(name, x):
        return F.linear(x, p[name + ".weight"], p[name + ".bias"])

    def cross_entropy(logits, ids, smoothing=0.0, z=0.0):
        counted = ids >= 0
        if not counted.any():
            return logits.sum() * 0
        mean = F.cross_entropy(logits, ids, ignore_index=-1, label_smoothing=smoothing)
        return mean + z * logits[counted].logsumexp(-1).pow(2).mean()

    kind, side = inputs["kind"][step].long(), inputs["side"][step].long()
    h = F.relu(linear("first", inputs["x"][step]))
    sides = cross_entropy(linear("early", h), side, smoothing=0.1)
    for l in range(LAYERS):
        h = h + linear(f"blocks.{l}.down", F.relu(linear(f"blocks.{l}.up", h)))
    logits = linear("head", h)
    z = cross_entropy(logits, kind, z=0.01) - cross_entropy(logits, kind)
    return (2 * (SIDE * sides + z) + F.mse_loss(linear("last", h), inputs["size"][step]) / 2
            + cross_entropy(logits, kind))


# ---- runs


def optimizer_of(run, params):
    decayed = [t for t in params if t.dim() > 1]
    others = [t for t in params if t.dim() < 2]
    if run == "sgd":
        return torch.optim.SGD(params, lr=SGD_LR, momentum=MOMENTUM)
    groups = [{"params": decayed, "weight_decay": DECAY}, {"params": others, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=LR, betas=BETAS, eps=1e-8)


def train(run, init, loss_of, inputs):
    """Losses, norms, and the gradients of step 1."""
    master = {name: t.clone().requires_grad_() for name, t in init.items()}
    optimizer = optimizer_of(run, list(master.values()))
    losses, norms, first = [], [], None
    for step in range(STEPS):
        used = master
        if run == "half":
            used = {name: t.detach().bfloat16().requires_grad_() for name, t in master.items()}
        with torch.autocast("cpu", torch.bfloat16, enabled=run == "autocast"):
            loss = loss_of(used, inputs, step)
        optimizer.zero_grad()
        loss.backward()
        for name, t in master.items():
            t.grad = used[name].grad.float()
        if first is None:
            first = {name: t.grad.clone() for name, t in master.items()}
        norms.append(torch.nn.utils.clip_grad_norm_(list(master.values()), CLIP).item())
        losses.append(loss.item())
        optimizer.step()
    return losses, norms, first


def record(name, init, loss_of, inputs, runs=("adamw", "sgd", "half", "autocast")):
    entries = {f"inputs/{k}": t for k, t in inputs.items()} | {f"init/{k}": t for k, t in init.items()}
    reference = None
    for run in runs:
        losses, norms, first = train(run, init, loss_of, inputs)
        entries[f"loss/{run}"], entries[f"norm/{run}"] = torch.tensor(losses), torch.tensor(norms)
        if reference is None:
            reference = first
            entries |= {f"grad/{k}": g for k, g in first.items()}
        for k, g in first.items():
            if run in ("half", "autocast"):
                entries[f"stray/{run}/{k}"] = ((g - reference[k]).norm() / reference[k].norm()).view(1)
        print(f"{name:6} {run:9} loss {losses[0]:.6f} -> {losses[-1]:.6f}   norm {norms[0]:.4f} -> {norms[-1]:.4f}")
    with open(os.path.join(FOLDER, name + ".bin"), "wb") as file:
        file.write(b"LSMODEL1")
        for key, t in entries.items():
            file.write(struct.pack("<88sq", key.encode(), t.numel()))
            file.write(t.detach().float().contiguous().numpy().astype(np.float32).tobytes())


def record_losses():
    torch.manual_seed(8)
    x = torch.randn(STEPS, SAMPLES, INPUTS)
    kind = torch.where(torch.rand(STEPS, SAMPLES) < 0.4, -1, (x[..., 0] > 0).long() * 2 + (x[..., 1] > 0).long())
    side = torch.where(torch.rand(STEPS, SAMPLES) < 0.7, -1, (x[..., 2] > 0).long() + (x[..., 0] > 1).long())
    kind[0, 0], side[0, :2], side[3] = 1, 1, -1  # step 4 has no target of one of the losses
    size = torch.stack([x[..., 0] * x[..., 1], (x[..., 2] + x[..., 0]).sin()], -1)
    record("losses", losses_init(), losses_loss, {"x": x, "kind": kind, "side": side, "size": size}, ("adamw", "sgd"))


if __name__ == "__main__":
    if sys.argv[1:] == ["losses"]:
        sys.exit(record_losses())
    record("gpt2", gpt2_init(), gpt2_loss, {"tokens": text()})
    record("llama", llama_init(), llama_loss, {"tokens": text()})
    x = torch.randn(STEPS, SAMPLES, INPUTS)
    y = torch.stack([x[..., 0] * x[..., 1], (x[..., 2] + x[..., 0]).sin()], -1)
    record("mlp", mlp_init(), mlp_loss, {"x": x, "y": y})
    record_losses()
