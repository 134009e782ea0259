#!/usr/bin/env python3
"""Expected steps of the examples against measured ones, on this machine's processors.

    bench/processors.py BUILD [EXAMPLE]... [--steps N] [--rates FILE]

Measures rates with `lockstep bench` (or takes FILE), runs a few steps of each example, and prints a
table: the step and each part of its breakdown, measured and expected. On a machine that does
something else the numbers say nothing.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BYTES = {"data.train": "train.u8", "data.valid": "valid.u8"}
# Examples that a processor runs in seconds; the last one with fewer tokens a step.
EXAMPLES = {
    "tiny": BYTES, "tiny_ddp": BYTES, "tiny_llama": BYTES, "own_model": {},
    "gpt2_124m": {"data": "synthetic", "cluster": "here", "train.batch": "4 sequences", "train.context": 64, "train.microbatch": 4},
}
SMALL = 0.02  # of a step: shorter parts are left out
BENCHES = ["kernels", "copies", "collectives"]


def lockstep(build, *words):
    done = subprocess.run([os.path.join(build, "lockstep"), *words], capture_output=True, text=True)
    if done.returncode not in (0, 4):
        sys.exit(f"lockstep {' '.join(words)}: exit {done.returncode}\n{done.stderr}")
    return done.stdout


def measure(build, name, rates, steps, folder):
    """The breakdown of an example's steps: parts in ms, measured and expected."""
    path = os.path.join(ROOT, "examples", name + ".lua")
    own = EXAMPLES.get(name, {})  # sections first: a section replaces keys of it that were set before
    changes = {
        **{key: value for key, value in own.items() if "." not in key},
        "name": "measured", "train.steps": steps, "schedule.warmup": 0,
        "checkpoint.every": "never", "log.ranks_every": steps, "cluster.calibration": rates,
        **{key: value for key, value in own.items() if "." in key},
    }
    words = [word for key, value in changes.items() for word in ("-D", f"{key}={value}")]
    here = os.getcwd()
    os.chdir(folder)
    try:
        lockstep(build, "run", path, "--resume", "never", "--quiet", *words)
        with open("runs/measured/summary.json") as file:
            return json.load(file)["breakdown"]
    finally:
        os.chdir(here)


def parts_of(breakdown):
    """(name, ms): the step, compute, what is exposed of each axis, and the rest."""
    rows = [("step", breakdown["step_ms"]), ("compute", breakdown["compute_ms"])]
    rows += [("exposed " + axis, ms) for axis, ms in breakdown["exposed_ms"].items()]
    rows += [(name, breakdown[name + "_ms"]) for name in ("bubble", "data_wait", "other")]
    return dict(rows)


def print_rows(name, breakdown):
    measured, expected = parts_of(breakdown), None
    if breakdown["predicted"] is not None:
        expected = parts_of(breakdown["predicted"])
    for part, ms in measured.items():
        if expected is None:
            print(f"| {name} | {part} | {ms:.3f} | not known | |")
        elif ms >= SMALL * measured["step"] or expected[part] >= SMALL * measured["step"]:
            error = f"{100 * (expected[part] / ms - 1):+.0f} %" if ms > 0 else ""
            print(f"| {name} | {part} | {ms:.3f} | {expected[part]:.3f} | {error} |")
    sys.stdout.flush()


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("build")
    parser.add_argument("examples", nargs="*")
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--rates")
    options = parser.parse_args()
    build = os.path.abspath(options.build)
    with tempfile.TemporaryDirectory() as folder:
        rates = os.path.abspath(options.rates) if options.rates else os.path.join(folder, "rates.lua")
        for what in BENCHES if not options.rates else []:
            lockstep(build, "bench", what, "-o", rates)
        print("| example | part | measured ms | expected ms | error |\n|---|---|---|---|---|")
        for data in BYTES.values():
            with open(os.path.join(folder, data), "wb") as file:
                file.write(os.urandom(1 << 19))
        for name in options.examples or EXAMPLES:
            print_rows(name, measure(build, name, rates, options.steps, folder))


if __name__ == "__main__":
    main()
