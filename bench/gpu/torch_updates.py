#!/usr/bin/env python3
"""PyTorch's fused AdamW in fp32 on one GPU, which updates of ours are measured against.

  torch_updates.py RESULTS.jsonl

Appends one record, as gpu_update_times prints them: microseconds of a step on one tensor, the least of several
rounds, and GB/s of the gradient, the parameter and two moments. Exit status 77: no torch, or no GPU.
"""

import json
import sys
import time

NO_DEVICE = 77
ELEMENTS = 1 << 25
BYTES_PER_ELEMENT = 4 + 3 * 8  # the gradient is read; parameter and moments are read and written
ROUNDS, STEPS = 5, 10


def round_us(torch, optimizer):
    torch.cuda.synchronize()
    start_s = time.perf_counter()
    for _ in range(STEPS):
        optimizer.step()
    torch.cuda.synchronize()
    return (time.perf_counter() - start_s) / STEPS * 1e6


def record_of(us):
    rate = BYTES_PER_ELEMENT * ELEMENTS / us * 1e-3
    return dict(probe="updates", case="AdamW, fp32", kind="timing", by="PyTorch", elements=ELEMENTS,
                bytes_per_element=BYTES_PER_ELEMENT, us=us, gb_per_s=rate, ok=True)


def main():
    try:
        import torch
    except ImportError:
        torch = None
    if torch is None or not torch.cuda.is_available():
        print("skipped: PyTorch or a GPU is missing", file=sys.stderr)
        return NO_DEVICE
    parameter = torch.nn.Parameter(torch.randn(ELEMENTS, device="cuda"))
    parameter.grad = torch.randn_like(parameter)
    optimizer = torch.optim.AdamW([parameter], lr=1e-6, weight_decay=0.1, fused=True)
    rounds = [round_us(torch, optimizer) for _ in range(ROUNDS + 1)]
    line = json.dumps(record_of(min(rounds[1:])))  # the first one warms up
    with open(sys.argv[1], "a", encoding="utf-8") as file:
        file.write(line + "\n")
    print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
