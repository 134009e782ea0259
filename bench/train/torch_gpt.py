"""A GPT-2-shaped training step in PyTorch, for bench/train/run.py: same shapes, same work, PyTorch's best CPU settings.

Biases everywhere, learned positions, tanh GELU, tied head, fused AdamW, gradient norm clipping, scaled_dot_product_attention;
bf16 through autocast (fp32 weights, as autocast does), as PyTorch users train on CPUs. Reads numbers of steps on stdin; prints a JSON line of
seconds for each.
"""
import argparse
import json
import sys
import time

import torch
import torch.nn as nn
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.c_attn, self.c_proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.c_fc, self.m_proj = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, seq, width = x.shape
        parts = self.c_attn(self.ln_1(x)).view(batch, seq, 3, self.heads, width // self.heads)
        q, k, v = (part.transpose(1, 2) for part in parts.unbind(2))
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.c_proj(a.transpose(1, 2).reshape(batch, seq, width))
        return x + self.m_proj(F.gelu(self.c_fc(self.ln_2(x)), approximate="tanh"))


class Model(nn.Module):
    def __init__(self, layers, width, heads, vocab, positions):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocab, width), nn.Embedding(positions, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.ln_f = nn.LayerNorm(width)
        for weight in (self.wte.weight, self.wpe.weight):
            nn.init.normal_(weight, std=0.02)

    def forward(self, ids, targets):
        x = self.wte(ids) + self.wpe(torch.arange(ids.shape[1]))
        for block in self.blocks:
            x = block(x)
        logits = F.linear(self.ln_f(x), self.wte.weight)
        return F.cross_entropy(logits.view(-1, logits.shape[-1]), targets.reshape(-1))


def main():
    parser = argparse.ArgumentParser()
    for name in ("layers", "width", "heads", "vocab", "positions", "batch", "context", "threads"):
        parser.add_argument("--" + name, type=int, required=True)
    parser.add_argument("--precision", choices=("fp32", "bf16"), required=True)
    parser.add_argument("--compile", action="store_true")
    a = parser.parse_args()
    torch.set_num_threads(a.threads)
    torch.manual_seed(1337)
    model = Model(a.layers, a.width, a.heads, a.vocab, a.positions)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, betas=(0.9, 0.95), weight_decay=0.1, fused=True)
    step_loss = torch.compile(model) if a.compile else model
    def steps(count):
        seconds = []
        for _ in range(count):
            ids = torch.randint(0, a.vocab, (a.batch, a.context))
            targets = torch.randint(0, a.vocab, (a.batch, a.context))
            start = time.perf_counter()
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=a.precision == "bf16"):
                loss = step_loss(ids, targets)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            loss.item()
            seconds.append(time.perf_counter() - start)
        return seconds

    steps(2)  # warm-up: compilation, allocator, caches
    print(json.dumps({"version": torch.__version__}), flush=True)
    for line in sys.stdin:  # a number of steps; idle in between, so that pairs can alternate
        print(json.dumps({"seconds": steps(int(line))}), flush=True)


if __name__ == "__main__":
    main()
