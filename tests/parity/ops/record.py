"""Records what PyTorch computes for each op: writes ops.bin beside this file.

    python3 record.py            # the tests themselves never need Python

Each case is one kernel call of kernels/kernels.def: sizes, attributes, and for every operand its value before
the call (in), after it (out), both (both), or nothing (work). kernel_parity_test.c reads the file; its layout,
little-endian:
    "LSOPS002", then per case
    kernel char[32], dims i64[20], attrs f64[12], lr f64, clip_scale f64, step i64, accumulate i64,
    grad_norm f64 and clip_scale f64 after the call (NaN: not looked at), operands i64, then per operand
    role i64 (0 in, 1 out, 2 both, 3 work), dtype i64 (0 f32, 1 bf16, 2 i32, 3 f64), count i64, the values

In bf16 cases inputs are rounded to bf16, PyTorch computes in f32 from them, and outputs are rounded once: what a
kernel may differ by is then its own last rounding, not PyTorch's rounding in between.
"""

import math
import os
import struct

import numpy as np
import torch
import torch.nn.functional as F

torch.manual_seed(20)
torch.set_num_threads(1)

IN, OUT, BOTH, WORK = range(4)
NAN = float("nan")
cases = []


def pack(values, dtype):
    values = values.detach().contiguous()
    if dtype == 1:
        raw = values.bfloat16().view(torch.int16).numpy()
    else:
        raw = values.to([torch.float32, None, torch.int32, torch.float64][dtype]).numpy()
    return raw.tobytes()


class Operand:
    def __init__(self, role, values=None, after=None, dtype=None):
        self.role, self.values, self.after, self.dtype = role, values, after, dtype


def inp(t, dtype=None):
    return Operand(IN, t, dtype=dtype)


def out(t, dtype=None):
    return Operand(OUT, t, dtype=dtype)


def both(before, after, dtype=None):
    return Operand(BOTH, before, after, dtype)


def work():
    return Operand(WORK, torch.zeros(0), dtype=0)


def emit(kernel, dims, attrs, operands, bf16=False, accumulate=False, lr=0.0, clip_scale=1.0, step=1,
         grad_norm=NAN, clip_after=NAN):
    blob = struct.pack("<32s20q12d", kernel.encode(), *(list(dims) + [0] * (20 - len(dims))),
                       *(list(attrs) + [0.0] * (12 - len(attrs))))
    blob += struct.pack("<ddqqddq", lr, clip_scale, step, accumulate, grad_norm, clip_after, len(operands))
    for o in operands:
        dtype = o.dtype
        if dtype is None:
            dtype = 2 if o.values.dtype == torch.int32 else 1 if bf16 else 0
        blob += struct.pack("<qqq", o.role, dtype, o.values.numel())
        blob += pack(o.values, dtype)
        if o.role == BOTH:
            blob += pack(o.after, dtype)
    cases.append(blob)


def rand(*shape, bf16=False, grad=False):
    t = torch.randn(shape)
    if bf16:
        t = t.bfloat16().float()
    return t.requires_grad_(grad)


def ids(count, below, negative=False):
    t = torch.randint(0, below, (count,), dtype=torch.int32)
    if negative:
        t[1::3] = -1
    return t


def embedding(bf16):
    rows, width, vocab = 11, 6, 7
    table, at, d_y = rand(vocab, width, bf16=bf16, grad=True), ids(rows, vocab), rand(rows, width, bf16=bf16)
    y = F.embedding(at.long(), table)
    (g,) = torch.autograd.grad(y, table, d_y)
    emit("embedding", [rows, width, vocab], [], [inp(table), inp(at), out(y)], bf16)
    emit("embedding_backward", [rows, width, vocab], [], [inp(d_y), inp(at), out(g)], bf16)
    old = rand(vocab, width, bf16=bf16)
    emit("embedding_backward", [rows, width, vocab], [], [inp(d_y), inp(at), both(old, old + g)], bf16, True)


def linear(bf16, rows, width, outs, transposed):
    dims = [rows, width, outs, transposed]
    x, bias = rand(rows, width, bf16=bf16, grad=True), rand(outs, bf16=bf16, grad=True)
    w = rand(width, outs, bf16=bf16, grad=True) if transposed else rand(outs, width, bf16=bf16, grad=True)
    d_y = rand(rows, outs, bf16=bf16)
    matrix = w.t() if transposed else w
    y = F.linear(x, matrix, bias)
    d_x, d_w, d_bias = torch.autograd.grad(y, (x, w, bias), d_y)
    emit("linear", dims, [], [inp(x), inp(w), out(F.linear(x, matrix)), work()], bf16)
    emit("linear_bias", dims, [], [inp(x), inp(w), inp(bias), out(y), work()], bf16)
    emit("linear_dx", dims, [], [inp(d_y), inp(w), out(d_x), work()], bf16)
    emit("linear_dw", dims, [], [inp(x), inp(d_y), out(d_w), work()], bf16)
    emit("linear_db", [rows, outs], [], [inp(d_y), out(d_bias)], bf16)
    # Gradients of parameters stay in f32 when they are accumulated.
    old, old_bias = torch.randn_like(w), torch.randn_like(bias)
    emit("linear_dw", dims, [], [inp(x), inp(d_y), both(old, old + d_w, 0), work()], bf16, True)
    emit("linear_db", [rows, outs], [], [inp(d_y), both(old_bias, old_bias + d_bias, 0)], bf16, True)


def norms(bf16, rows, width):
    x, weight = rand(rows, width, bf16=bf16, grad=True), rand(width, bf16=bf16, grad=True)
    bias, d_y = rand(width, bf16=bf16, grad=True), rand(rows, width, bf16=bf16)
    dims, eps = [rows, width], 1e-5
    y = F.layer_norm(x, [width], weight, bias, eps)
    d_x, d_weight, d_bias = torch.autograd.grad(y, (x, weight, bias), d_y)
    mean, var = x.mean(1), x.var(1, unbiased=False)
    stats = torch.stack([mean, (var + eps).rsqrt()], 1)
    emit("layernorm", dims, [eps], [inp(x), inp(weight), inp(bias), out(y), out(stats, 0)], bf16)
    old = torch.randn(width)
    emit("layernorm_backward", dims, [],
         [inp(d_y), inp(x), inp(weight), inp(stats, 0), out(d_x), out(d_weight), out(d_bias), work()], bf16)
    emit("layernorm_backward", dims, [],
         [inp(d_y), inp(x), inp(weight), inp(stats, 0), out(d_x), both(old, old + d_weight, 0),
          both(old, old + d_bias, 0), work()], bf16, True)

    y = F.rms_norm(x, [width], weight, eps)
    d_x, d_weight = torch.autograd.grad(y, (x, weight), d_y)
    rstd = (x.square().mean(1) + eps).rsqrt()
    emit("rmsnorm", dims, [eps], [inp(x), inp(weight), out(y), out(rstd, 0)], bf16)
    emit("rmsnorm_backward", dims, [],
         [inp(d_y), inp(x), inp(weight), inp(rstd, 0), out(d_x), out(d_weight), work()], bf16)
    emit("rmsnorm_backward", dims, [],
         [inp(d_y), inp(x), inp(weight), inp(rstd, 0), out(d_x), both(old, old + d_weight, 0), work()], bf16, True)


def rotate(x, base, first):
    """The form of the LLaMA checkpoints on the Hugging Face hub: halves, not neighbouring pairs."""
    head, seq = x.shape[-1], x.shape[1]
    turns = base ** (-torch.arange(0, head, 2, dtype=torch.float64) / head)
    angle = (first + torch.arange(seq, dtype=torch.float64))[:, None] * turns
    angle = torch.cat([angle, angle], 1)[None, :, None, :]
    half = torch.cat([-x[..., head // 2:], x[..., :head // 2]], -1)
    return x * angle.cos().float() + half * angle.sin().float()


def rope(bf16):
    batch, seq, heads, head = 2, 7, 3, 8
    x, d_y = rand(batch, seq, heads, head, bf16=bf16, grad=True), rand(batch, seq, heads, head, bf16=bf16)
    y = rotate(x, 10000.0, 5)
    (d_x,) = torch.autograd.grad(y, x, d_y)
    dims = [batch, seq, heads, head, heads * head, heads * head]
    emit("rope", dims, [10000.0, 1, 5, 5 + seq // 2], [inp(x), out(y)], bf16)
    emit("rope", dims, [10000.0, -1, 5, 5 + seq // 2], [inp(d_y), out(d_x)], bf16)


def attention(bf16, batch, seq, heads, kv_heads, head, causal):
    q = rand(batch, seq, heads, head, bf16=bf16, grad=True)
    k = rand(batch, seq, kv_heads, head, bf16=bf16, grad=True)
    v = rand(batch, seq, kv_heads, head, bf16=bf16, grad=True)
    d_out = rand(batch, seq, heads, head, bf16=bf16)
    scale = 1 / math.sqrt(head)
    y = F.scaled_dot_product_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), is_causal=causal,
                                       scale=scale, enable_gqa=True).transpose(1, 2)
    d_q, d_k, d_v = torch.autograd.grad(y, (q, k, v), d_out)
    wide_k, wide_v = k.repeat_interleave(heads // kv_heads, 2), v.repeat_interleave(heads // kv_heads, 2)
    scores = scale * torch.einsum("bihd,bjhd->bhij", q, wide_k)
    if causal:
        scores = scores.masked_fill(torch.ones(seq, seq).triu(1).bool(), -math.inf)
    lse = scores.logsumexp(-1)
    strides = [heads * head, kv_heads * head, kv_heads * head]
    dims, runs = [batch, seq, heads, kv_heads, head] + strides, [0, seq // 2]
    attrs = [float(causal), scale, 0.0] + runs + runs + [0, heads, seq]
    emit("attention", dims, attrs, [inp(q), inp(k), inp(v), out(y), out(lse, 0), work()], bf16)
    if bf16:
        # Backward starts from the output as the forward kernel stored it. PyTorch's f32 gradients, less what the
        # rounding of y does to them through sum(d_out y).
        p = (scores - lse[..., None]).exp().detach()
        d_p = torch.einsum("bihd,bjhd->bhij", d_out, wide_v)
        row = (d_out * y.bfloat16().float()).sum(-1).transpose(1, 2)[..., None]
        d_scores = (scale * p * (d_p - row)).detach()
        exact = (scale * p * (d_p - (d_out * y).sum(-1).transpose(1, 2)[..., None])).detach()
        change = d_scores - exact
        by_group = (batch, seq, kv_heads, heads // kv_heads, head)
        d_q = d_q + torch.einsum("bhij,bjhd->bihd", change, wide_k)
        d_k = d_k + torch.einsum("bhij,bihd->bjhd", change, q).reshape(by_group).sum(3)
    emit("attention_backward", dims + strides, attrs,
         [inp(d_out), inp(q), inp(k), inp(v), inp(y), inp(lse, 0), out(d_q), out(d_k), out(d_v), work()], bf16)


ACTIVATIONS = [("gelu", lambda x: F.gelu(x, approximate="tanh")), ("silu", F.silu), ("relu", F.relu), ("tanh", torch.tanh)]


def activations(bf16, kinds):
    for name, f in kinds:
        x = torch.cat([rand(120) * 3, torch.tensor([0.0, -0.0, 30.0, -30.0, 100.0, -100.0])])
        x = (x.bfloat16().float() if bf16 else x).requires_grad_()
        d_y = rand(x.numel(), bf16=bf16)
        y = f(x)
        (d_x,) = torch.autograd.grad(y, x, d_y)
        emit(name, [x.numel()], [], [inp(x), out(y)], bf16)
        emit(name + "_backward", [x.numel()], [], [inp(d_y), inp(x), out(d_x)], bf16)


def arithmetic(bf16):
    shape = (3, 4, 5)
    a = rand(*shape, bf16=bf16)
    for b_shape, strides in [((3, 4, 5), [20, 5, 1]), ((5,), [0, 0, 1]), ((3, 1, 5), [5, 0, 1]), ((4, 1), [0, 1, 0]),
                             ((), [0, 0, 0])]:
        b = rand(*b_shape, bf16=bf16, grad=True)
        dims = [3, *shape, *strides]
        emit("add", dims, [], [inp(a), inp(b), out(a + b)], bf16)
        emit("subtract", dims, [], [inp(a), inp(b), out(a - b)], bf16)
        emit("multiply", dims, [], [inp(a), inp(b), out(a * b)], bf16)
        (g,) = torch.autograd.grad(b.expand(shape), b, a)
        emit("sum_to", dims, [], [inp(a), out(g)], bf16)
    emit("affine", [60], [0.5, -2.0], [inp(a), out(a * 0.5 - 2)], bf16)


def cross_entropy(bf16, rows, held, vocab):
    """Classes from vocab on are padding."""
    scale = 0.125
    logits, targets = (rand(rows, held) * 3), ids(rows, vocab, negative=True)
    logits = (logits.bfloat16().float() if bf16 else logits).requires_grad_()
    loss = F.cross_entropy(logits[:, :vocab], targets.long(), ignore_index=-1, reduction="sum")
    (g,) = torch.autograd.grad(loss * scale, logits)
    count = float((targets >= 0).sum())
    pair, old = torch.tensor([loss.item(), count]), torch.tensor([2.5, 3.0])
    emit("cross_entropy", [rows, held, vocab], [], [inp(logits), inp(targets), out(pair, 3), work()], bf16)
    emit("cross_entropy_train", [rows, held, vocab], [scale],
         [both(logits, g), inp(targets), both(old, old + pair, 3), work()], bf16, True)


def mse(bf16):
    n, scale = 70, 0.125
    y, target = rand(n, bf16=bf16, grad=True), rand(n, bf16=bf16)
    loss = F.mse_loss(y, target, reduction="sum")
    (g,) = torch.autograd.grad(loss * scale, y)
    pair, old = torch.tensor([loss.item(), float(n)]), torch.tensor([2.5, 3.0])
    emit("mse", [n], [], [inp(y), inp(target), out(pair, 3), work()], bf16)
    emit("mse_train", [n], [scale], [inp(y), inp(target), both(old, old + pair, 3), out(g), work()], bf16, True)


def adamw(n, steps, eps):
    """Steps of torch.optim.AdamW, every second one clipped by clip_grad_norm_."""
    betas, decay = (0.9, 0.95), 0.1
    p = torch.nn.Parameter(torch.randn(n))
    optimizer = torch.optim.AdamW([p], lr=1e-2, betas=betas, eps=eps, weight_decay=decay, foreach=False)
    m, v = torch.zeros(n), torch.zeros(n)
    for step in range(1, steps + 1):
        lr = 1e-2 / step
        optimizer.param_groups[0]["lr"] = lr
        p.grad, before = torch.randn(n), p.detach().clone()
        grad, scale = p.grad.clone(), 1.0
        if step % 2 == 0:
            norm = torch.nn.utils.clip_grad_norm_([p], 1.0).item()
            scale = 1.0 / (norm + 1e-6)
            halves = torch.stack([grad[:n // 2].square().sum(), grad[n // 2:].square().sum()])
            emit("grad_norm", [2], [1.0], [inp(halves, 3)], grad_norm=norm, clip_after=scale)
            emit("grad_norm", [2], [100.0], [inp(halves, 3)], grad_norm=norm, clip_after=1.0)
        optimizer.step()
        state = optimizer.state[p]
        m_after, v_after = state["exp_avg"].clone(), state["exp_avg_sq"].clone()
        attrs, control = [*betas, eps, decay], dict(lr=lr, clip_scale=scale, step=step)
        after = p.detach().clone()
        emit("adamw", [n], attrs, [inp(grad), both(before, after), both(m, m_after), both(v, v_after)], **control)
        emit("adamw_master", [n], attrs,
             [inp(grad), both(before, after, 1), both(m, m_after), both(v, v_after), both(before, after)], **control)
        m, v = m_after, v_after


def sgd():
    """torch.optim.SGD adds decay to the gradient; ours is decoupled, so PyTorch gets decay 0 and the shrinking."""
    for momentum, decay in [(0.9, 0.0), (0.9, 0.05), (0.0, 0.0)]:
        n, lr = 20, 0.1
        p = torch.nn.Parameter(torch.randn(n))
        optimizer = torch.optim.SGD([p], lr=lr, momentum=momentum, foreach=False)
        m = torch.zeros(n)
        for step in range(1, 4):
            p.grad, before = torch.randn(n), p.detach().clone()
            grad, scale = p.grad.clone(), 1.0
            if step == 2:
                scale = 1.0 / (torch.nn.utils.clip_grad_norm_([p], 1.0).item() + 1e-6)
            with torch.no_grad():
                p.mul_(1 - lr * decay)
            optimizer.step()
            m_after = optimizer.state[p]["momentum_buffer"].clone() if momentum else p.grad.clone()
            after = p.detach().clone()
            control = dict(lr=lr, clip_scale=scale, step=step)
            emit("sgd", [n], [momentum, decay], [inp(grad), both(before, after), both(m, m_after)], **control)
            emit("sgd_master", [n], [momentum, decay],
                 [inp(grad), both(before, after, 1), both(m, m_after), both(before, after)], **control)
            m = m_after


def lion():
    """PyTorch has none: algorithm 2 of arXiv:2302.06675, in its words, with PyTorch's operations."""
    for beta1, beta2, decay in [(0.9, 0.99, 0.0), (0.95, 0.98, 0.5)]:
        n, lr = 20, 0.01
        p, m = torch.randn(n), torch.zeros(n)
        for step in range(1, 4):
            grad, scale = torch.randn(n), 0.25 if step == 2 else 1.0
            g = grad * scale
            after = p - lr * (torch.sign(m * beta1 + g * (1 - beta1)) + decay * p)
            m_after = m * beta2 + g * (1 - beta2)
            control = dict(lr=lr, clip_scale=scale, step=step)
            emit("lion", [n], [beta1, beta2, decay], [inp(grad), both(p, after), both(m, m_after)], **control)
            emit("lion_master", [n], [beta1, beta2, decay],
                 [inp(grad), both(p, after, 1), both(m, m_after), both(p, after)], **control)
            p, m = after, m_after


def rounding():
    bits = torch.randint(-2**31, 2**31, (300,), dtype=torch.int64).to(torch.int32)
    edges = [0, 0x3F808000, 0x3F818000, 0x3F807FFF, 0x3F808001, 0x7F7FFFFF, 0x7F800000, 0x00000001, 0x00008000,
             0x00018000, 0x007FFFFF, 0x7F7F7FFF]
    x = torch.cat([bits, torch.tensor(edges, dtype=torch.int32)]).view(torch.float32)
    x = x[~x.isnan()]
    emit("cast", [x.numel()], [], [inp(x), out(x, 1)])
    emit("cast", [x.numel()], [], [inp(x, 1), out(x.bfloat16().float(), 0)])
    x = torch.randn(4500)
    emit("square_sum", [4500], [], [inp(x), out(x.double().square().sum().reshape(1), 3), work()])


def main():
    for bf16 in (False, True):
        embedding(bf16)
        linear(bf16, 7, 5, 9, 0)
        linear(bf16, 7, 5, 9, 1)
        linear(bf16, 5, 35, 18, 0)
        norms(bf16, 5, 17)
        norms(bf16, 3, 40)
        rope(bf16)
        attention(bf16, 2, 6, 2, 2, 4, False)
        attention(bf16, 2, 7, 4, 2, 8, True)
        attention(bf16, 1, 29, 2, 1, 6, True)
        activations(bf16, ACTIVATIONS)
        arithmetic(bf16)
        cross_entropy(bf16, 9, 37, 37)
        mse(bf16)
    adamw(40, 5, 1e-8)
    adamw(16, 2, 0.3)  # the place of eps in the formula shows only when it is large
    sgd()
    rounding()
    for bf16 in (False, True):  # last: what is drawn before stays as it was
        cross_entropy(bf16, 5, 40, 37)
    for bf16 in (False, True):
        activations(bf16, [("gelu_erf", F.gelu)])
    lion()
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "ops.bin")
    with open(path, "wb") as f:
        f.write(b"LSOPS002" + b"".join(cases))
    print(f"{len(cases)} cases, {os.path.getsize(path)} bytes, torch {torch.__version__}")


main()
