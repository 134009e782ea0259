"""Sizes and floating-point operations of the benchmark models. No torch in here.

The convention for model flops, used for every utilisation we print: 6 operations per matmul weight
and token (2 forward, 4 backward), plus 6 L C T per token for causal attention (2 matmuls of 2 C T
forward, halved by the mask; twice that backward). Recomputation inside attention kernels does not
count. Embedding lookups do not count; a tied head does.
"""

from dataclasses import dataclass

CONVENTION = "6 N + 6 L C T (causal), N = weights of matmuls, head included"
DATASHEET_BF16_FLOPS = 989.4e12  # H100 and H200 SXM, dense; NVIDIA's data sheets


@dataclass(frozen=True)
class Gpt2:
    layers: int = 12
    width: int = 768
    heads: int = 12
    vocabulary: int = 50304  # 50257 padded to a multiple of 128
    tokens: int = 1024

    def parameters(self):
        per_layer = 12 * self.width**2 + 13 * self.width
        embeddings = (self.vocabulary + self.tokens) * self.width
        return self.layers * per_layer + embeddings + 2 * self.width

    def matmul_weights(self):
        return self.layers * 12 * self.width**2 + self.vocabulary * self.width


@dataclass(frozen=True)
class LlamaStack:
    """Layers of Llama-3 8B without embedding and head."""

    layers: int = 8
    width: int = 4096
    heads: int = 32
    kv_heads: int = 8
    hidden: int = 14336
    tokens: int = 8192
    rope_base: float = 500000.0

    @property
    def head_size(self):
        return self.width // self.heads

    def matmul_weights(self):
        kv_width = self.kv_heads * self.head_size
        per_layer = 2 * self.width**2 + 2 * self.width * kv_width + 3 * self.width * self.hidden
        return self.layers * per_layer

    def parameters(self):
        return self.matmul_weights() + self.layers * 2 * self.width


def flops_per_token(model):
    return 6 * model.matmul_weights() + 6 * model.layers * model.width * model.tokens


def utilisation(model, tokens_per_s, peak_flops=DATASHEET_BF16_FLOPS):
    return flops_per_token(model) * tokens_per_s / peak_flops
