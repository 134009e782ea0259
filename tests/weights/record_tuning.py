#!/usr/bin/env python3
"""Tunes llama/ of this folder with PyTorch on documents with masks, one document at a time, and prints the loss of each step.

    pip install torch transformers && record_tuning.py FOLDER > FOLDER/tuning

Steps take documents as windows of CONTEXT tokens hold them: the longest first, each in the fullest window that still holds it. The
loss of a step is the sum over its targets, divided by their number.
"""
import json
import os
import random
import sys

import torch
from transformers import LlamaForCausalLM

CONTEXT, BATCH, STEPS = 24, 4, 5


def make_documents():
    draw = random.Random(7)
    documents = []
    for _ in range(56):
        prompt, completion = draw.randint(1, 8), draw.randint(1, 12)
        ids = [draw.randrange(64) for _ in range(prompt + completion)]
        documents.append({"ids": ids, "mask": [0] * prompt + [1] * completion})
    return documents


def pack(documents):
    windows = []  # [room, documents]
    for document in sorted(documents, key=lambda d: -len(d["ids"])):
        size = len(document["ids"])
        holding = [w for w in windows if w[0] >= size]
        window = min(holding, key=lambda w: w[0]) if holding else [CONTEXT, []]
        if not holding:
            windows.append(window)
        window[0] -= size
        window[1].append(document)
    return [w[1] for w in windows]


def main(folder):
    documents = make_documents()
    with open(os.path.join(folder, "tuning.jsonl"), "w") as file:
        for document in documents:
            file.write(json.dumps(document) + "\n")
    windows = pack(documents)
    model = LlamaForCausalLM.from_pretrained(os.path.join(folder, "llama"), dtype=torch.float32, attn_implementation="eager").double()
    decays = [p for p in model.parameters() if p.ndim > 1]
    others = [p for p in model.parameters() if p.ndim == 1]
    optimizer = torch.optim.AdamW([{"params": decays, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}],
                                  lr=1e-2, betas=(0.9, 0.95), eps=1e-8)
    for step in range(STEPS):
        chosen = [d for i in range(BATCH) for d in windows[(step * BATCH + i) % len(windows)]]
        count = sum(sum(d["mask"][1:]) for d in chosen)
        optimizer.zero_grad()
        total = 0.0
        for document in chosen:
            ids, mask = torch.tensor(document["ids"]), torch.tensor(document["mask"][1:], dtype=torch.bool)
            if mask.any():
                logits = model(ids[None, :]).logits[0, :-1]
                loss = torch.nn.functional.cross_entropy(logits[mask], ids[1:][mask], reduction="sum") / count
                loss.backward()
                total += loss.item()
        print(step + 1, "%.9f" % total)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()


if __name__ == "__main__":
    main(sys.argv[1])
