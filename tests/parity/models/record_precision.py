"""Records what PyTorch computes for the models of record.py in fp64, and in narrow precisions with fp32 parameters: writes
gpt2_precision.bin, llama_precision.bin and mlp_precision.bin beside this file.

    python3 record_precision.py  # the tests themselves never need Python

Inputs and initial values are those of gpt2.bin, llama.bin and mlp.bin, optimizer and clipping those of their runs adamw.
Each file is as record.py has it: loss/RUN and norm/RUN of every step, norms those before clipping, of unscaled gradients.
RUN is one of
    fp64            everything in double precision
    fp16, bf16      torch.autocast; of fp16 with torch.amp.GradScaler
    fp16-cast, bf16-cast    parameters are cast, and everything that the model computes is of that dtype (FSDP's
                    MixedPrecision); of fp16 with GradScaler
"""

import os
import struct

import numpy as np
import torch

import record as models

NARROW = {"fp16": torch.float16, "bf16": torch.bfloat16}
widen = torch.Tensor.float

def read(name):
    with open(os.path.join(models.FOLDER, name + ".bin"), "rb") as file:
        data = file.read()
    entries, at = {}, 8
    while at < len(data):
        key, count = struct.unpack_from("<88sq", data, at)
        at += 96
        entries[key.rstrip(b"\0").decode()] = torch.from_numpy(np.frombuffer(data, np.float32, count, at).copy())
        at += 4 * count
    return entries


def train(run, init, loss_of, inputs):
    word, casts = run.removesuffix("-cast"), run.endswith("-cast")
    wide = torch.float64 if run == "fp64" else torch.float32
    master = {name: t.to(wide, copy=True).requires_grad_() for name, t in init.items()}
    optimizer = models.optimizer_of("adamw", list(master.values()))
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0, enabled=word == "fp16")  # no step of these overflows
    losses, norms = [], []
    for step in range(models.STEPS):
        used = {n: t.to(NARROW[word]) for n, t in master.items()} if casts else master
        with torch.autocast("cpu", NARROW.get(word, torch.bfloat16), enabled=word in NARROW and not casts):
            torch.Tensor.float = (lambda t: t) if run == "fp64" else widen  # models widen their logits
            loss = loss_of(used, inputs, step)
            torch.Tensor.float = widen
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        norms.append(torch.nn.utils.clip_grad_norm_(list(master.values()), models.CLIP).item())
        losses.append(loss.item())
        scaler.step(optimizer)
        scaler.update()
    return losses, norms


def record(name, shapes, loss_of):
    kept = read(name)
    init = {k: kept["init/" + k].view(t.shape) for k, t in shapes.items()}
    inputs = {k[len("inputs/"):]: v for k, v in kept.items() if k.startswith("inputs/")}
    for k, v in inputs.items():
        row = (models.BATCH, models.CONTEXT + 1) if k == "tokens" else (models.SAMPLES, -1)
        inputs[k] = v.view(models.STEPS, *row)
        inputs[k] = inputs[k].long() if k == "tokens" else inputs[k]
    entries, exact = {}, None
    for run in ("fp64", "fp16", "bf16", "fp16-cast", "bf16-cast"):
        mine = {k: v.double() if run == "fp64" and k != "tokens" else v for k, v in inputs.items()}
        losses, norms = train(run, init, loss_of, mine)
        exact = exact or (losses, norms)
        far = [max(abs(a / b - 1) for a, b in zip(of, to)) for of, to in zip((losses, norms), exact)]
        print(f"{name:6} {run:9} loss {losses[-1]:.6f}   farthest from fp64: loss {far[0]:.2g} norm {far[1]:.2g}")
        entries[f"loss/{run}"], entries[f"norm/{run}"] = losses, norms
    with open(os.path.join(models.FOLDER, name + "_precision.bin"), "wb") as file:
        file.write(b"LSMODEL1")
        for key, values in entries.items():
            file.write(struct.pack("<88sq", key.encode(), len(values)) + np.array(values, np.float32).tobytes())


if __name__ == "__main__":
    record("gpt2", models.gpt2_init(), models.gpt2_loss)
    record("llama", models.llama_init(), models.llama_loss)
    record("mlp", models.mlp_init(), models.mlp_loss)
