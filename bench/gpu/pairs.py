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
the two, for tests. Before any pairs every case has one turn of ours alone, so that its time is known where PyTorch is
missing or takes too long. --profile: one step of each is profiled by kernel, ours after that turn, PyTorch's after the pairs.
Exit status 1: a case has failed. Without PyTorch only ours is recorded, which is no failure.
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


def tokens_of(case):
    _, model, batch, count, _, _ = case
    return batch * count * model.tokens


def fields_alone(case, ours):
    """The figures of one turn of ours."""
    rate = tokens_of(case) / ours
    return dict(
        tokens_per_step=tokens_of(case),
        step_ms=ours * 1e3,
        tokens_per_s=rate,
        mfu=utilisation(case[1], rate),
    )


def fields_of(case, rows):
    """What a case's pairs say."""
    model, tokens = case[1], tokens_of(case)
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


def write_profile(path, name, kind, program):
    """A record; a failure costs nothing else."""
    record = dict(probe="profile", case=name, kind=kind)
    try:
        record.update(rows=program.profile(), ok=True)
    except Exception as error:
        record.update(ok=False, error=f"{type(error).__name__}: {error}"[:500])
    with open(path, "a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")


def add_record(path, name, **fields):
    line = json.dumps(dict(probe="pairs", case=name, workload=name, **fields))
    with open(path, "a", encoding="utf-8") as file:
        file.write(line + "\n")
    print(line, flush=True)


def measure_alone(name, arguments, folder):
    """One turn of ours, and its profile."""
    mine = shlex.split(arguments.ours) if arguments.ours else [str(Path(arguments.build).resolve() / "lockstep")]
    (folder / name).mkdir()
    ours = Ours(mine, CASES[name], arguments.cluster, folder / name)
    add_record(arguments.results, name, kind="alone", **fields_alone(CASES[name], ours.turn_s()), ok=True)
    if arguments.profile:
        write_profile(arguments.profile, name, "ours", ours)
    return ours


def measure_pairs(name, arguments, ours, end_s):
    mode, attention = fastest(arguments.torch, name)
    here = Path(__file__).resolve().parent / "torch_baseline.py"
    command = [sys.executable, str(here), "-", "--serve", name, "--mode", mode, "--attention", attention]
    if arguments.theirs:
        command = [*shlex.split(arguments.theirs), name]
    theirs = Theirs(command)
    try:
        rows = take_turns(ours, theirs, arguments.pairs, end_s)
        fields = dict(against=f"{mode}, {attention}", version=theirs.version, **fields_of(CASES[name], rows))
        add_record(arguments.results, name, kind="timing", **fields, ok=True)
        if arguments.profile:
            write_profile(arguments.profile, name, "torch", theirs)
    finally:
        theirs.close()


class Failures:
    """Cases that failed: each is recorded, and the others go on."""

    def __init__(self, path):
        self.path, self.count = path, 0

    def attempt(self, name, kind, measure):
        """Returns the result of `measure`, or None where it failed."""
        try:
            return measure()
        except Missing as error:
            print(f"{name}: ours alone: {error}", file=sys.stderr)
        except Exception as error:
            message = f"{type(error).__name__}: {error}"[:500]
            add_record(self.path, name, kind=kind, ok=False, error=message)
            self.count += 1
        return None


def run_cases(arguments):
    """The status to end with. Ours comes first in all cases, for PyTorch's compiler may take all of the time."""
    names = arguments.cases.split(",")
    end_s = time.monotonic() + arguments.minutes * 60
    failures = Failures(arguments.results)
    with tempfile.TemporaryDirectory() as folder:
        ours = {
            name: failures.attempt(name, "alone", lambda: measure_alone(name, arguments, Path(folder)))
            for name in names
        }
        ready = [name for name in names if ours[name]]
        for index, name in enumerate(ready):
            share_s = (end_s - time.monotonic()) / (len(ready) - index)
            if share_s <= 0:
                add_record(arguments.results, name, kind="timing", ok=False, error="not run: no time left")
                failures.count += 1
                continue
            until_s = time.monotonic() + share_s
            failures.attempt(name, "timing", lambda: measure_pairs(name, arguments, ours[name], until_s))
    return 1 if failures.count else 0


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
