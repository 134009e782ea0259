#!/usr/bin/env python3
"""PyTorch's training steps on one GPU: the times ours is measured against.

  torch_baseline.py RESULTS.jsonl [--cases A,B,...] [--minutes M]
  torch_baseline.py --cpu-smoke RESULTS.jsonl     a tiny model on the CPU: tests this file's logic
  torch_baseline.py - --serve CASE [--mode M] [--attention A]    one variant, for pairs.py: a number of
                                                  samples comes in a line, their seconds go out; for
                                                  "profile" the kernels of one step

Cases: gpt2_64k (65536 tokens a step), gpt2_b1, gpt2_b2, gpt2_b4 (T 1024), llama8 (8 Llama-3 8B
layers, T 8192). Each runs in a process of its own with six variants, torch.compile default,
reduce-overhead and max-autotune times attention by flash and cuDNN. All share one set of fp32
weights, autocast to bf16, and one fused AdamW. After every variant is compiled, rounds visit them
in turn, so that a clock that drifts drifts for all; medians over rounds are recorded.
A variant for which no time is left is recorded as not run, or as stopped. Exit status 77: no torch, or no GPU.
"""

import argparse
import contextlib
import itertools
import json
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

from model_math import CONVENTION, Gpt2, LlamaStack, flops_per_token, utilisation
from profile_step import kernels_of

NO_DEVICE = 77
MODES = ("default", "reduce-overhead", "max-autotune")
BACKENDS = ("cudnn", "flash")
ROUNDS = 7
SAMPLE_S = 0.3  # one timed sample is at least this long

# name: model, batch of one micro-step, micro-steps a step
CASES = {
    "gpt2_64k": (Gpt2(), 32, 2),
    "llama8": (LlamaStack(), 1, 1),
    "gpt2_b1": (Gpt2(), 1, 1),
    "gpt2_b4": (Gpt2(), 4, 1),
    "gpt2_b2": (Gpt2(), 2, 1),
}
SMOKE_CASES = {
    "smoke_gpt2": (Gpt2(layers=2, width=32, heads=2, vocabulary=128, tokens=16), 2, 2),
    "smoke_llama": (
        LlamaStack(layers=2, width=32, heads=4, kv_heads=2, hidden=64, tokens=16),
        2,
        1,
    ),
}


class OutOfTime(Exception):
    """A variant's compilation took what the others' rounds need."""


@contextlib.contextmanager
def time_limit(seconds):
    """Raises OutOfTime in the body once it has run for so long; what was ready before it stays."""

    def stop(*_):
        raise OutOfTime(f"stopped after {seconds:.0f} s of compiling")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-3))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


class Records:
    """Appends one JSON object a line; see tests/gpu/common/record.h."""

    def __init__(self, path):
        self.path = path

    def add(self, case, ok=True, **fields):
        line = json.dumps({"probe": "torch", "case": case, **fields, "ok": ok})
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(line + "\n")
        print(line, flush=True)


class Variant:
    """One compiled program over the shared weights."""

    def __init__(self, bench, mode, backend):
        import torch
        from torch_models import Gpt2Loss, LlamaStackLoss, share_parameters

        self.bench, self.mode, self.backend = bench, mode, backend
        kind = Gpt2Loss if isinstance(bench.model, Gpt2) else LlamaStackLoss
        module = kind(bench.model, backend, bench.device).to(bench.device)
        if bench.owner is None:
            bench.adopt(module)
        else:
            share_parameters(module, bench.owner)
        layers = getattr(module, "layers", None)
        self.expands = bool(layers and layers[0].expand)
        self.loss = module if mode == "eager" else torch.compile(module, mode=mode, dynamic=False)
        self.samples_ms = []
        self.steps = 1
        self.fields = {}

    @property
    def name(self):
        return f"{self.bench.name} {self.mode} {self.backend}"

    def gradients(self):
        """Forward and backward of all micro-steps; the loss of the last one."""
        import torch

        for inputs in self.bench.micro_batches:
            torch.compiler.cudagraph_mark_step_begin()
            with torch.autocast(self.bench.device, dtype=torch.bfloat16):
                loss = self.loss(*inputs)
            (loss / len(self.bench.micro_batches)).backward()
        return loss

    def step(self):
        # Accumulating into kept gradients is what micro-steps need; with one micro-step a fresh
        # gradient saves the addition.
        self.bench.optimizer.zero_grad(set_to_none=len(self.bench.micro_batches) == 1)
        self.gradients()
        self.bench.optimizer.step()

    def sample(self):
        self.bench.synchronize()
        start_s = time.perf_counter()
        for _ in range(self.steps):
            self.step()
        self.bench.synchronize()
        return (time.perf_counter() - start_s) / self.steps * 1e3

    def prepare(self):
        """Compiles, compares with the first variant, measures memory, finds the sample length."""
        bench = self.bench
        start_s = time.perf_counter()
        bench.optimizer.zero_grad(set_to_none=len(bench.micro_batches) == 1)
        loss = float(self.gradients().detach())
        norm = bench.gradient_norm()
        bench.check_agreement(self, loss, norm)
        for _ in range(3):  # reduce-overhead records its graphs on the second and third run
            self.step()
        bench.synchronize()
        self.fields["compile_s"] = round(time.perf_counter() - start_s, 1)
        self.fields["peak_memory_bytes"] = bench.peak_memory_bytes(self)
        self.fields["attention_kernels"] = bench.attention_kernels(self)
        self.steps = max(1, int(bench.sample_s / (self.sample() * 1e-3)))

    def record(self, records):
        model, bench = self.bench.model, self.bench
        step_ms = statistics.median(self.samples_ms)
        rate = bench.tokens_per_step / step_ms * 1e3
        records.add(
            self.name,
            kind="timing",
            workload=bench.name,
            mode=self.mode,
            attention=self.backend,
            tokens_per_step=bench.tokens_per_step,
            step_ms=step_ms,
            step_min_ms=min(self.samples_ms),
            step_max_ms=max(self.samples_ms),
            rounds=len(self.samples_ms),
            tokens_per_s=rate,
            mfu=utilisation(model, rate) if bench.device == "cuda" else None,
            mfu_convention=CONVENTION + ", of 989.4 TFLOP/s",
            flops_per_token=flops_per_token(model),
            key_heads_expanded=self.expands,
            **self.fields,
        )


class Bench:
    """What the variants of one case share."""

    def __init__(self, name, case, device):
        import torch

        self.torch, self.name, self.device = torch, name, device
        self.model, batch, count = case
        self.owner = self.optimizer = self.agreed = None
        self.sample_s = SAMPLE_S if device == "cuda" else 0.02
        torch.manual_seed(1)
        self.micro_batches = [self.inputs(batch) for _ in range(count)]
        self.tokens_per_step = batch * count * self.model.tokens

    def inputs(self, batch):
        torch, model, device = self.torch, self.model, self.device
        if isinstance(model, Gpt2):
            shape = (batch, model.tokens)
            return tuple(torch.randint(model.vocabulary, shape, device=device) for _ in range(2))
        shape = (batch, model.tokens, model.width)
        return tuple(torch.randn(shape, device=device, dtype=torch.bfloat16) for _ in range(2))

    def adopt(self, module):
        self.owner = module
        if len(self.micro_batches) > 1:
            # Allocated here, or the first gradients would lie in a CUDA graph's own memory, which
            # its next replay overwrites.
            for parameter in module.parameters():
                parameter.grad = self.torch.zeros_like(parameter)
        self.optimizer = self.torch.optim.AdamW(
            module.parameters(), lr=1e-5, betas=(0.9, 0.95), weight_decay=0.1, fused=True
        )

    def synchronize(self):
        if self.device == "cuda":
            self.torch.cuda.synchronize()

    def gradient_norm(self):
        norms = [parameter.grad.norm() for parameter in self.owner.parameters()]
        return float(self.torch.stack(norms).norm())

    def check_agreement(self, variant, loss, norm):
        """The loss moves little in the few steps between variants: a wrong one stands out."""
        if not (loss == loss and norm == norm and abs(norm) != float("inf")):
            raise RuntimeError(f"loss {loss}, gradient norm {norm}")
        if self.agreed is None:
            self.agreed = norm
        if abs(norm - self.agreed) > 0.2 * self.agreed:
            raise RuntimeError(f"gradient norm {norm}, the first variant had {self.agreed}")
        variant.fields["gradient_norm"] = norm

    def peak_memory_bytes(self, variant):
        """Highest allocation during one step. The pools of other variants' graphs count only where
        they hold live tensors; reserved but free memory does not."""
        if self.device != "cuda":
            return None
        self.torch.cuda.reset_peak_memory_stats()
        variant.step()
        self.synchronize()
        return self.torch.cuda.max_memory_allocated()

    def kernels(self, variant):
        """Where the time of one step on the GPU goes, by kernel."""
        if self.device != "cuda":
            return []
        from torch.profiler import ProfilerActivity, profile

        with profile(activities=[ProfilerActivity.CUDA]) as profiler:
            variant.step()
            self.synchronize()
        return kernels_of(profiler.key_averages())

    def attention_kernels(self, variant):
        """Names of the attention kernels a step really ran: asked for, not assumed."""
        if self.device != "cuda":
            return []
        from torch.profiler import ProfilerActivity, profile

        with profile(activities=[ProfilerActivity.CUDA]) as profiler:
            variant.step()
            self.synchronize()
        words = ("flash", "fmha", "sdpa", "fprop", "bprop", "attention")
        names = {event.key for event in profiler.key_averages()}
        return sorted(n[:100] for n in names if any(word in n.lower() for word in words))[:6]


def prepare_variants(bench, modes, backends, deadline_s, records):
    """Compiles as many variants as fit before `deadline_s`; failures and omissions are recorded. One that takes
    longer is given up: the case would be stopped otherwise, and lose the variants that are ready."""
    ready = []
    for mode, backend in itertools.product(modes, backends):
        name = f"{bench.name} {mode} {backend}"
        if time.monotonic() > deadline_s:
            records.add(
                name, ok=False, kind="timing", workload=bench.name, error="not run: no time left"
            )
            continue
        try:
            with time_limit(deadline_s - time.monotonic()):
                variant = Variant(bench, mode, backend)
                variant.prepare()
            ready.append(variant)
        except Exception as error:  # one variant out of memory must not end the others
            message = f"{type(error).__name__}: {error}"[:500]
            records.add(name, ok=False, kind="timing", workload=bench.name, error=message)
            if bench.device == "cuda":
                bench.torch.cuda.empty_cache()
    return ready


def run_case(name, case, device, modes, backends, seconds, records):
    end_s = time.monotonic() + seconds
    import torch

    torch.set_float32_matmul_precision("high")
    for limit in ("recompile_limit", "cache_size_limit"):  # renamed between releases
        if hasattr(torch._dynamo.config, limit):
            setattr(torch._dynamo.config, limit, 64)
    bench = Bench(name, case, device)
    # Rounds take ROUNDS * SAMPLE_S a variant; they get a quarter of the time, compilation the rest.
    ready = prepare_variants(bench, modes, backends, end_s - 0.25 * seconds, records)
    for _ in range(ROUNDS):
        for variant in ready:
            if time.monotonic() < end_s or not variant.samples_ms:
                variant.samples_ms.append(variant.sample())
    for variant in ready:
        variant.record(records)
    return bool(ready)


def serve(name, case, device, mode, backend):
    """Prepared once, then sampled as often as asked: see pairs.py. Between turns it keeps weights and moments
    only, for 8 Llama-3 layers of both do not fit on an H100 with all else."""
    import torch

    torch.set_float32_matmul_precision("high")
    variant = Variant(Bench(name, case, device), mode, backend)
    variant.prepare()
    if device == "cuda":
        torch.cuda.empty_cache()
    print(json.dumps({"version": torch.__version__}), flush=True)
    for line in sys.stdin:
        variant.step()  # takes the memory again that the other's turn has had
        if line.strip() == "profile":
            print(json.dumps({"kernels": variant.bench.kernels(variant)}), flush=True)
            continue
        seconds = [variant.sample() * 1e-3 for _ in range(int(line))]
        if device == "cuda":
            torch.cuda.empty_cache()
        print(json.dumps({"seconds": seconds}), flush=True)
    return 0


def run_cases(arguments, records):
    """Each case in a process of its own; what is left of the time is shared among those left."""
    import torch

    device = torch.cuda.get_device_properties(0)
    records.add(
        "versions",
        kind="versions",
        torch=torch.__version__,
        cuda=torch.version.cuda,
        cudnn=torch.backends.cudnn.version(),
        device=device.name,
    )
    end_s = time.monotonic() + arguments.minutes * 60
    names = arguments.cases.split(",")
    ok = True
    for index, name in enumerate(names):
        # The first case is the one that counts: it may use twice an equal share.
        share = 2 if index == 0 and len(names) > 1 else 1
        seconds = (end_s - time.monotonic()) * share / (len(names) - index + share - 1)
        if seconds < 30:
            records.add(name, ok=False, kind="timing", workload=name, error="not run: no time left")
            continue
        command = [sys.executable, __file__, arguments.results, "--run-case", name]
        try:
            result = subprocess.run([*command, "--seconds", str(seconds)], timeout=seconds + 20)
            ok = ok and result.returncode == 0
        except subprocess.TimeoutExpired:
            records.add(
                name, ok=False, kind="timing", workload=name, error="stopped at its time limit"
            )
            ok = False
    return 0 if ok else 1


def run_smoke(path):
    """Everything but CUDA: both models, shared weights, micro-steps, rounds and records."""
    records = Records(path)
    for name, case in SMOKE_CASES.items():
        if not run_case(name, case, "cpu", ("eager",), ("math", "flash"), 600, records):
            return 1
    lines = [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]
    timed = [line for line in lines if line["ok"] and line["tokens_per_s"] > 0]
    return 0 if len(timed) == len(lines) == 2 * len(SMOKE_CASES) else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results")
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--minutes", type=float, default=4.0)
    parser.add_argument("--cpu-smoke", action="store_true")
    parser.add_argument("--run-case", help=argparse.SUPPRESS)
    parser.add_argument("--serve")
    parser.add_argument("--mode", default="default")
    parser.add_argument("--attention", default="cudnn")
    parser.add_argument("--seconds", type=float, default=60.0, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    unknown = [name for name in arguments.cases.split(",") if name not in CASES]
    if unknown:
        parser.error(f"no case {unknown[0]}; there are {', '.join(CASES)}")
    try:
        import torch
    except ImportError:
        print("skipped: python3 has no torch", file=sys.stderr)
        return NO_DEVICE
    if arguments.serve in SMOKE_CASES:
        return serve(arguments.serve, SMOKE_CASES[arguments.serve], "cpu", "eager", "math")
    if not arguments.run_case and not arguments.serve:
        Path(arguments.results).write_text("", encoding="utf-8")
    if arguments.cpu_smoke:
        return run_smoke(arguments.results)
    if not torch.cuda.is_available():
        print("no GPU: torch.cuda.is_available() is False", file=sys.stderr)
        return NO_DEVICE
    if arguments.serve:
        case = CASES[arguments.serve]
        return serve(arguments.serve, case, "cuda", arguments.mode, arguments.attention)
    records = Records(arguments.results)
    if arguments.run_case:
        case = CASES[arguments.run_case]
        done = run_case(
            arguments.run_case, case, "cuda", MODES, BACKENDS, arguments.seconds, records
        )
        return 0 if done else 1
    return run_cases(arguments, records)


if __name__ == "__main__":
    sys.exit(main())
