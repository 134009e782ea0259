"""GPT-2 and a stack of Llama-3 layers in plain PyTorch, as a careful user would write them.

Weights are fp32 and autocast computes in bf16, so the optimizer updates fp32 masters: the same
numerics as ours. The attention backend is a constant of the module, so that torch.compile makes one
program for each.
"""

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

BACKENDS = {
    "flash": SDPBackend.FLASH_ATTENTION,
    "cudnn": SDPBackend.CUDNN_ATTENTION,
    "math": SDPBackend.MATH,
}


def takes_shared_key_heads(backend, device):
    """Whether scaled_dot_product_attention reads grouped key heads itself on this backend."""
    query = torch.zeros(1, 4, 128, 64, device=device, dtype=torch.bfloat16, requires_grad=True)
    key = torch.zeros(1, 2, 128, 64, device=device, dtype=torch.bfloat16, requires_grad=True)
    try:
        with sdpa_kernel(BACKENDS[backend]):
            F.scaled_dot_product_attention(
                query, key, key, is_causal=True, enable_gqa=True
            ).sum().backward()
        return True
    except RuntimeError:
        return False


def attend(q, k, v, backend, expand):
    """q [B, H, T, D], k and v [B, HK, T, D]."""
    shared = q.size(1) != k.size(1)
    if shared and expand:
        k = k.repeat_interleave(q.size(1) // k.size(1), dim=1)
        v = v.repeat_interleave(q.size(1) // v.size(1), dim=1)
    with sdpa_kernel(BACKENDS[backend]):
        return F.scaled_dot_product_attention(
            q, k, v, is_causal=True, enable_gqa=shared and not expand
        )


class Gpt2Block(nn.Module):
    def __init__(self, model, backend):
        super().__init__()
        self.heads, self.backend = model.heads, backend
        self.norm1 = nn.LayerNorm(model.width)
        self.qkv = nn.Linear(model.width, 3 * model.width)
        self.proj = nn.Linear(model.width, model.width)
        self.norm2 = nn.LayerNorm(model.width)
        self.fc1 = nn.Linear(model.width, 4 * model.width)
        self.fc2 = nn.Linear(4 * model.width, model.width)

    def forward(self, x):
        batch, tokens, width = x.shape
        qkv = self.qkv(self.norm1(x)).view(batch, tokens, 3, self.heads, width // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        o = attend(q, k, v, self.backend, expand=False)
        x = x + self.proj(o.transpose(1, 2).reshape(batch, tokens, width))
        return x + self.fc2(F.gelu(self.fc1(self.norm2(x)), approximate="tanh"))


class Gpt2Loss(nn.Module):
    """Tokens and targets to the mean cross-entropy."""

    def __init__(self, model, backend, _device):
        super().__init__()
        self.embedding = nn.Embedding(model.vocabulary, model.width)
        self.position = nn.Embedding(model.tokens, model.width)
        self.blocks = nn.ModuleList(Gpt2Block(model, backend) for _ in range(model.layers))
        self.norm = nn.LayerNorm(model.width)
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, std=0.02)

    def forward(self, tokens, targets):
        places = torch.arange(tokens.size(1), device=tokens.device)
        # The residual stream in bf16, as in llm.c; autocast alone would leave it in fp32.
        x = (self.embedding(tokens) + self.position(places)).to(torch.bfloat16)
        for block in self.blocks:
            x = block(x)
        logits = F.linear(self.norm(x), self.embedding.weight)
        return F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1))


def rotate(x, cosine, sine):
    """Rotary position embedding (Su et al., arXiv:2104.09864), half against half."""
    left, right = x.float().chunk(2, dim=-1)
    return torch.cat((left * cosine - right * sine, right * cosine + left * sine), dim=-1).to(
        x.dtype
    )


class LlamaLayer(nn.Module):
    def __init__(self, model, backend, expand):
        super().__init__()
        self.model, self.backend, self.expand = model, backend, expand
        kv_width = model.kv_heads * model.head_size
        self.norm1 = nn.RMSNorm(model.width, eps=1e-5)
        self.qkv = nn.Linear(model.width, model.width + 2 * kv_width, bias=False)
        self.o = nn.Linear(model.width, model.width, bias=False)
        self.norm2 = nn.RMSNorm(model.width, eps=1e-5)
        self.gate_up = nn.Linear(model.width, 2 * model.hidden, bias=False)
        self.down = nn.Linear(model.hidden, model.width, bias=False)

    def forward(self, x, cosine, sine):
        model = self.model
        batch, tokens, width = x.shape
        heads = self.qkv(self.norm1(x)).view(batch, tokens, -1, model.head_size).transpose(1, 2)
        q, k, v = heads.split((model.heads, model.kv_heads, model.kv_heads), dim=1)
        o = attend(rotate(q, cosine, sine), rotate(k, cosine, sine), v, self.backend, self.expand)
        x = x + self.o(o.transpose(1, 2).reshape(batch, tokens, width))
        gate, up = self.gate_up(self.norm2(x)).chunk(2, dim=-1)
        return x + self.down(F.silu(gate) * up)


class LlamaStackLoss(nn.Module):
    """Activations and a fixed d_out to sum(out * d_out).

    Its gradient into the stack is d_out, which is what a head would send back, at the cost of one
    pass over the output.
    """

    def __init__(self, model, backend, device):
        super().__init__()
        expand = not takes_shared_key_heads(backend, device)
        self.layers = nn.ModuleList(LlamaLayer(model, backend, expand) for _ in range(model.layers))
        pairs = torch.arange(model.head_size // 2, dtype=torch.float32)
        frequency = model.rope_base ** (-2.0 * pairs / model.head_size)
        angle = torch.outer(torch.arange(model.tokens, dtype=torch.float32), frequency)
        self.register_buffer("cosine", angle.cos(), persistent=False)
        self.register_buffer("sine", angle.sin(), persistent=False)
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, std=0.02)

    def forward(self, x, d_out):
        for layer in self.layers:
            x = layer(x, self.cosine, self.sine)
        return (x.float() * d_out.float()).sum()


def share_parameters(model, owner):
    """Makes `model` use the parameters of `owner`: one set of weights and one optimizer for all."""
    for (name, _), (_, parameter) in zip(
        list(model.named_parameters()), list(owner.named_parameters()), strict=True
    ):
        *path, leaf = name.split(".")
        module = model.get_submodule(".".join(path))
        setattr(module, leaf, parameter)
