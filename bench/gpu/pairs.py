#!/usr/bin/env python3
"""Lockstep's training steps on one GPU beside PyTorch's, pair by pair.

  pairs.py RESULTS.jsonl BUILD [--cases A,B,...] [--pairs N] [--minutes M] [--torch TORCH.jsonl]
           [--cluster NAME] [--ours COMMAND] [--theirs COMMAND] [--profile PROFILE.jsonl]

Every pair is a turn of ours and then one of PyTorch's, so that a clock that drifts drifts for both. A
turn's figure is the median of its steps; a case's are the medians over its pairs, and the ratio is the
median of theirs / ours of each pair. Ours is one run of BUILD/lockstep a turn, without its first
steps; PyTorch's process stays, compiled and warm (torch_baseline.py --serve).

Cases as in torch_baseline.py, against the setting that TORCH.jsonl, its results, says is fastest;
without it, torch.compile default with cuDNN's attention. llama8 has an embedding and a head of 128 tokens
that PyTorch's stack has not: 0.06 % of its weights. --ours and --theirs put other programs in the place of
the two, for tests. --profile: after its pairs a case has one step of each profiled by kernel. Exit status 77: PyTorch or a GPU is missing.
"""

import argparse
import json
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from model_math import CONVENTION, Gpt2, LlamaStack, flops_per_token, utilisation
from profile_step import read_trace

NO_DEVICE = 77
PROFILED_STEP = 6
GPT2 = '{ "gpt2", layers = 12, width = 768, heads = 12, vocab = 50304, positions = 1024 }'
LLAMA = '{ "llama3-8b", layers = 8, vocab = 128 }'

# name: model of the job, model of model_math, micro-batch, micro-batches, steps a turn, of which warm
CASES = {
    "gpt2_64k": (GPT2, Gpt2(), 32, 2, 12, 4),
    "llama8": (LLAMA, LlamaStack(), 1, 1, 12, 4),
    "gpt2_b1": (GPT2, Gpt2(), 1, 1, 220, 20),
    "gpt2_b2": (GPT2, Gpt2(), 2, 1, 220, 20),
    "gpt2_b4": (GPT2, Gpt2(), 4, 1, 220, 20),
}


class Missing(Exception):
    """PyTorch or a GPU."""


def job_text(case, cluster):
    model, sizes, batch, count, steps, _ = case
    return f"""return job {{
  name = "bench",
  model = {model},
  data = "synthetic",
  train = {{ batch = "{batch * count} sequences", microbatch = {batch}, context = {sizes.tokens}, steps = {steps} }},
  optimizer = {{ "adamw", lr = 1e-5 }},
  precision = "bf16",
  checkpoint = {{ every = "never", resume = "never" }},
  cluster = {{ "{cluster}", devices = 1 }},
}}
"""


class Ours:
    """One run a turn."""

    def __init__(self, command, case, cluster, folder):
        self.command, self.case, self.folder = command, case, folder
        (folder / "bench.lua").write_text(job_text(case, cluster), encoding="utf-8")

    def turn_s(self):
        run = subprocess.run(
            [*self.command, "run", "bench.lua", "--quiet", "--no-plot"],
            cwd=self.folder,
            text=True,
            capture_output=True,
        )
        if run.returncode:
            raise RuntimeError(f"ours ended with {run.returncode}: {run.stderr.strip()[-300:]}")
        lines = (self.folder / "runs/bench/metrics.jsonl").read_text(encoding="utf-8").splitlines()
        steps = [row["step_ms"] * 1e-3 for row in map(json.loads, lines) if "step_ms" in row]
        steps = steps[self.case[5] :]
        if not steps:
            raise RuntimeError("ours made no step that counts")
        return statistics.median(steps)

    def profile(self):
        """The kernels of the last of a few steps, which is replayed as the others are."""
        words = ["run", "bench.lua", "--quiet", "--no-plot", "-D", "name=profile"]
        words += ["-D", f"train.steps={PROFILED_STEP}", "--trace", str(PROFILED_STEP)]
        for command in ([*self.command, *words], [*self.command, "trace", "runs/profile"]):
            run = subprocess.run(command, cwd=self.folder, text=True, capture_output=True)
            if run.returncode:
                raise RuntimeError(f"ours ended with {run.returncode}: {run.stderr.strip()[-300:]}")
        return read_trace(self.folder / "runs/profile/trace.json", PROFILED_STEP)


class Theirs:
    """A process that waits between its turns: numbers of samples go in, lines of JSON come out."""

    SAMPLES = 3

    def __init__(self, command):
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        try:
            self.version = self.answer()["version"]
        except Exception:
            self.close()
            raise

    def answer(self):
        for line in self.process.stdout:
            if line.startswith("{"):
                return json.loads(line)
        if self.process.wait() == NO_DEVICE:
            raise Missing("PyTorch or a GPU is missing")
        raise RuntimeError("PyTorch's process ended without an answer")

    def turn_s(self):
        self.process.stdin.write(f"{self.SAMPLES}\n")
        self.process.stdin.flush()
        return statistics.median(self.answer()["seconds"])

    def profile(self):
        self.process.stdin.write("profile\n")
        self.process.stdin.flush()
        return self.answer()["kernels"]

    def close(self):
        if not self.process.stdin.closed:
            self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def take_turns(ours, theirs, pairs, end_s, now_s=time.monotonic):
    """[(ours, theirs)] in seconds; fewer than `pairs` where the time is over, but at least one."""
    rows = []
    while len(rows) < pairs and (not rows or now_s() < end_s):
        rows.append((ours.turn_s(), theirs.turn_s()))
    return rows


def fields_of(case, rows):
    """What a case's pairs say."""
    _, model, batch, count, _, _ = case
    tokens = batch * count * model.tokens
    ratios = sorted(theirs / ours for ours, theirs in rows)
    ours = statistics.median(row[0] for row in rows)
    theirs = statistics.median(row[1] for row in rows)
    return dict(
        tokens_per_step=tokens,
        step_ms=ours * 1e3,
        torch_step_ms=theirs * 1e3,
        tokens_per_s=tokens / ours,
        torch_tokens_per_s=tokens / theirs,
        ratio=statistics.median(ratios),
        ratio_min=ratios[0],
        ratio_max=ratios[-1],
        pairs=len(rows),
        mfu=utilisation(model, tokens / ours),
        mfu_convention=CONVENTION + ", of 989.4 TFLOP/s",
        flops_per_token=flops_per_token(model),
    )


def fastest(path, workload):
    """(mode, attention) of PyTorch's fastest variant of a workload."""
    best = None
    lines = Path(path).read_text(encoding="utf-8").splitlines() if path and Path(path).exists() else []
    for record in map(json.loads, lines):
        if record.get("workload") != workload or not record["ok"]:
            continue
        if best is None or record["tokens_per_s"] > best["tokens_per_s"]:
            best = record
    return (best["mode"], best["attention"]) if best else ("default", "cudnn")


def write_profiles(path, name, programs):
    """A record for each of the two; a failure of one costs neither the other nor the pairs."""
    for kind, program in programs:
        record = dict(probe="profile", case=name, kind=kind)
        try:
            record.update(rows=program.profile(), ok=True)
        except Exception as error:
            record.update(ok=False, error=f"{type(error).__name__}: {error}"[:500])
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")


def run_case(name, arguments, end_s):
    case, (mode, attention) = CASES[name], fastest(arguments.torch, name)
    here = Path(__file__).resolve().parent / "torch_baseline.py"
    command = [sys.executable, str(here), "-", "--serve", name, "--mode", mode, "--attention", attention]
    if arguments.theirs:
        command = [*shlex.split(arguments.theirs), name]
    mine = shlex.split(arguments.ours) if arguments.ours else [str(Path(arguments.build).resolve() / "lockstep")]
    with tempfile.TemporaryDirectory() as folder:
        theirs = Theirs(command)
        try:
            ours = Ours(mine, case, arguments.cluster, Path(folder))
            rows = take_turns(ours, theirs, arguments.pairs, end_s)
            if arguments.profile:
                write_profiles(arguments.profile, name, (("ours", ours), ("torch", theirs)))
        finally:
            theirs.close()
    return dict(against=f"{mode}, {attention}", version=theirs.version, **fields_of(case, rows))


def run_cases(arguments):
    """The status to end with. A case that fails is recorded, and the others go on."""
    names = arguments.cases.split(",")
    end_s = time.monotonic() + arguments.minutes * 60
    worst = 0
    for index, name in enumerate(names):
        record = dict(probe="pairs", case=name, kind="timing", workload=name)
        share_s = (end_s - time.monotonic()) / (len(names) - index)
        try:
            if share_s <= 0:
                raise RuntimeError("not run: no time left")
            record.update(run_case(name, arguments, time.monotonic() + share_s), ok=True)
        except Missing as error:
            print(f"skipped: {error}", file=sys.stderr)
            return NO_DEVICE
        except Exception as error:
            record.update(ok=False, error=f"{type(error).__name__}: {error}"[:500])
            worst = 1
        line = json.dumps(record)
        with open(arguments.results, "a", encoding="utf-8") as file:
            file.write(line + "\n")
        print(line, flush=True)
    return worst


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results")
    parser.add_argument("build")
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--minutes", type=float, default=6.0)
    parser.add_argument("--torch")
    parser.add_argument("--cluster", default="dgx-h200")
    parser.add_argument("--ours")
    parser.add_argument("--theirs")
    parser.add_argument("--profile")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.cases.split(",") if name not in CASES]
    if unknown:
        parser.error(f"no case {unknown[0]}; there are {', '.join(CASES)}")
    for path in filter(None, (arguments.results, arguments.profile)):
        Path(path).write_text("", encoding="utf-8")
    return run_cases(arguments)


if __name__ == "__main__":
    sys.exit(main())
