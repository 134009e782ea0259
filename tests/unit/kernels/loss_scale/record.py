"""Records what torch._amp_update_scale_ makes of 10,000 sequences of steps that overflow or do not.

Written with torch 2.4.1 on a processor: python3 record.py > torch.bin. loss_scale_test.c draws the
same sequences and compares a hash of the scale and the growth tracker after each step."""

import struct
import sys

import torch

SEQUENCES, STEPS, MASK = 10000, 40, (1 << 64) - 1
GROWTHS, BACKOFFS = (2.0, 4.0, 1.5, 1.1), (0.5, 0.25, 0.9, 0.3)


class Draws:
    def __init__(self, seed):
        self.state = seed

    def below(self, count):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) & MASK
        return (self.state >> 33) % count


def fnv(value, data):
    for byte in data:
        value = ((value ^ byte) * 16777619) & 0xFFFFFFFF
    return value


for sequence in range(SEQUENCES):
    draws = Draws(sequence)
    scale = torch.tensor([2.0 ** (draws.below(160) - 32)])
    if scale.item() == float("inf"):
        scale = torch.tensor([2.0**127])
    growth, backoff = GROWTHS[draws.below(4)], BACKOFFS[draws.below(4)]
    window, often = 1 + draws.below(6), 1 + draws.below(4)
    tracker = torch.tensor([0], dtype=torch.int32)
    value = 2166136261
    for _ in range(STEPS):
        overflow = torch.tensor([1.0 if draws.below(8) < often else 0.0])
        torch._amp_update_scale_(scale, tracker, overflow, growth, backoff, window)
        value = fnv(value, struct.pack("<fi", scale.item(), tracker.item()))
    sys.stdout.buffer.write(struct.pack("<I", value))
