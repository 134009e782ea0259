#!/usr/bin/env python3
"""pairs.py with stand-ins for the two programs: turns alternate, medians are of pairs, failures are
recorded by case."""

import json
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from types import SimpleNamespace

import torch_baseline
from model_math import Gpt2, utilisation
from pairs import CASES, fastest, fields_of, job_text, take_turns

HERE = Path(__file__).resolve().parent

# A trace: a product fused with GELU, twice, a launch of many updates; another step, another rank.
def event(kernel, ts, dur, step=6, pid=0, **more):
    work = dict(predicted_us=2.0, flops=10, bytes=100)
    return dict(ph="X", pid=pid, tid=0, ts=ts, dur=dur, cat="kernel", args=dict(step=step, kernel=kernel, **work, **more))


EVENTS = [
    dict(ph="M", pid=0, tid=0),
    event("adamw", 30.0, 7.0, launch=148),
    event("linear_bias", 0.0, 4.0),
    event("gelu", 4.0, 0.0, fused=True),
    event("linear_bias", 10.0, 5.0),
    event("gelu", 15.0, 0.0, fused=True),
    event("linear_bias", 0.0, 400.0, step=5),
    event("linear_bias", 0.0, 400.0, pid=1),
]

# Ours: a run of `steps` steps, the warm ones slow; its turns are counted in a file, which both write.
OURS = """
import json, pathlib, sys
log = pathlib.Path(sys.argv[1])
turn = log.read_text().count("ours") if log.exists() else 0
with log.open("a") as file: file.write("ours ")
text = pathlib.Path("bench.lua").read_text()
if sys.argv[2:] == ["trace", "runs/profile"]:
    pathlib.Path("runs/profile").mkdir(parents=True)
    pathlib.Path("runs/profile/trace.json").write_text(json.dumps({"traceEvents": EVENTS}))
    sys.exit(0)
if "--trace" in sys.argv: sys.exit(0)
assert sys.argv[2:] == ["run", "bench.lua", "--quiet", "--no-plot"], sys.argv
if "llama3-8b" in text: sys.exit("no such model here")
steps = int(text.split("steps = ")[1].split(" ")[0])
folder = pathlib.Path("runs/bench"); folder.mkdir(parents=True, exist_ok=True)
rows = [{"format": 1}] + [{"step_ms": 900.0 if i < 20 else 2.0 + turn} for i in range(steps)]
(folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\\n" for row in rows))
"""
THEIRS = """
import json, pathlib, sys
log = pathlib.Path(sys.argv[1])
print("noise of a compiler", flush=True)
print(json.dumps({"version": "9.9"}), flush=True)
for turn, line in enumerate(sys.stdin):
    if line == "profile\\n":
        print(json.dumps({"kernels": [{"name": "gemm", "count": 3, "us": 9.5}]}), flush=True)
        continue
    with log.open("a") as file: file.write(sys.argv[2] + " ")
    print(json.dumps({"seconds": [0.5, 0.004 * (turn + 1), 0.0001][: int(line)]}), flush=True)
"""


class Program:
    def __init__(self, name, log, seconds):
        self.name, self.log, self.seconds = name, log, list(seconds)

    def turn_s(self):
        self.log.append(self.name)
        return self.seconds.pop(0)


class Turns(unittest.TestCase):
    def test_the_two_alternate(self):
        log = []
        rows = take_turns(Program("a", log, [1, 2, 3]), Program("b", log, [4, 5, 6]), 3, 1e9, lambda: 0)
        self.assertEqual(log, ["a", "b"] * 3)
        self.assertEqual(rows, [(1, 4), (2, 5), (3, 6)])

    def test_one_pair_at_least_and_none_after_the_time(self):
        log = []
        rows = take_turns(Program("a", log, [1] * 9), Program("b", log, [2] * 9), 9, 5, lambda: 2 * len(log))
        self.assertEqual(len(rows), 2)
        self.assertEqual(len(take_turns(Program("a", [], [1]), Program("b", [], [2]), 9, 0)), 1)

    def test_the_ratio_is_of_pairs_not_of_medians(self):
        rows = [(0.1, 0.2), (0.2, 0.3), (0.4, 0.1)]  # ratios 2, 1.5, 0.25
        fields = fields_of(CASES["gpt2_b1"], rows)
        self.assertAlmostEqual(fields["ratio"], 1.5)
        self.assertAlmostEqual(fields["ratio_min"], 0.25)
        self.assertAlmostEqual(fields["ratio_max"], 2.0)
        self.assertAlmostEqual(fields["step_ms"], 200)
        self.assertAlmostEqual(fields["torch_step_ms"], 200)
        self.assertAlmostEqual(fields["tokens_per_s"], 1024 / 0.2)
        self.assertAlmostEqual(fields["mfu"], utilisation(Gpt2(), 5120))

    def test_jobs_have_the_tokens_of_their_case(self):
        text = job_text(CASES["gpt2_64k"], "dgx-h100")
        self.assertIn('batch = "64 sequences", microbatch = 32, context = 1024', text)
        self.assertIn('cluster = { "dgx-h100", devices = 1 }', text)


class Runs(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        (self.folder / "ours.py").write_text(f"EVENTS = {EVENTS!r}\n" + OURS)
        (self.folder / "theirs.py").write_text(THEIRS)

    def run_pairs(self, *more, theirs="theirs.py"):
        results = self.folder / "pairs.jsonl"
        log = self.folder / "log"
        command = [sys.executable, str(HERE / "pairs.py"), str(results), "none", "--pairs", "3"]
        command += ["--ours", f"{sys.executable} {self.folder}/ours.py {log}"]
        command += ["--theirs", f"{sys.executable} {self.folder}/{theirs} {log}", *more]
        ended = subprocess.run(command, capture_output=True, text=True)
        lines = results.read_text().splitlines() if results.exists() else []
        return ended, [json.loads(line) for line in lines], log.read_text() if log.exists() else ""

    def test_pairs_of_programs(self):
        ended, records, log = self.run_pairs("--cases", "gpt2_b1")
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertEqual(log, "ours " + "ours gpt2_b1 " * 3)
        alone, record = records
        self.assertEqual((alone["kind"], alone["ok"]), ("alone", True))
        self.assertAlmostEqual(alone["step_ms"], 2)
        self.assertAlmostEqual(alone["tokens_per_s"], 1024 / 0.002)
        # ours 3, 4, 5 ms without the warm steps; theirs 4, 8, 12 ms, the median of a turn's three
        self.assertAlmostEqual(record["step_ms"], 4)
        self.assertAlmostEqual(record["torch_step_ms"], 8)
        self.assertAlmostEqual(record["ratio"], 2)
        self.assertEqual((record["pairs"], record["version"], record["ok"]), (3, "9.9", True))

    def test_a_step_of_each_is_profiled(self):
        path = self.folder / "profile.jsonl"
        ended, _, _ = self.run_pairs("--cases", "gpt2_b1,llama8", "--profile", str(path))
        self.assertEqual(ended.returncode, 1)  # ours has no llama8
        ours, torch = [json.loads(line) for line in path.read_text().splitlines()]
        self.assertEqual((ours["case"], ours["kind"], torch["kind"]), ("gpt2_b1", "ours", "torch"))
        both = dict(name="linear_bias + gelu", count=2, us=9.0, predicted_us=8.0, flops=40, bytes=400)
        self.assertAlmostEqual(ours["rows"][0].pop("floor_us"), 400 / 3.0e6)
        self.assertEqual(ours["rows"][0], both)
        self.assertEqual([row["name"] for row in ours["rows"]], ["linear_bias + gelu", "adamw"])
        self.assertEqual(torch["rows"], [dict(name="gemm", count=3, us=9.5)])

    def test_a_case_that_fails_is_recorded_and_the_next_one_runs(self):
        ended, records, _ = self.run_pairs("--cases", "llama8,gpt2_b1")
        self.assertEqual(ended.returncode, 1)
        self.assertEqual([record["ok"] for record in records], [False, True, True])
        self.assertEqual(records[0]["kind"], "alone")
        self.assertIn("no such model here", records[0]["error"])

    def test_without_pytorch_ours_is_measured_and_profiled_alone(self):
        (self.folder / "absent.py").write_text("import sys; sys.exit(77)")
        path = self.folder / "profile.jsonl"
        more = ("--cases", "gpt2_b1,gpt2_b2", "--profile", str(path))
        ended, records, _ = self.run_pairs(*more, theirs="absent.py")
        self.assertEqual(ended.returncode, 0)
        self.assertEqual([(r["case"], r["kind"]) for r in records], [("gpt2_b1", "alone"), ("gpt2_b2", "alone")])
        self.assertEqual([json.loads(line)["kind"] for line in path.read_text().splitlines()], ["ours", "ours"])
        self.assertIn("gpt2_b1: ours alone: PyTorch or a GPU is missing", ended.stderr)

    def test_the_opponent_is_the_fastest_that_was_measured(self):
        path = self.folder / "torch.jsonl"
        rows = [("gpt2_b1", "default", "flash", 5, True), ("gpt2_b1", "reduce-overhead", "cudnn", 9, True),
                ("gpt2_b1", "max-autotune", "cudnn", 99, False), ("gpt2_b4", "max-autotune", "flash", 50, True)]
        path.write_text("".join(
            json.dumps(dict(zip(("workload", "mode", "attention", "tokens_per_s", "ok"), row))) + "\n" for row in rows))
        self.assertEqual(fastest(path, "gpt2_b1"), ("reduce-overhead", "cudnn"))
        self.assertEqual(fastest(path, "llama8"), ("default", "cudnn"))
        self.assertEqual(fastest(None, "gpt2_b1"), ("default", "cudnn"))


class SlowVariant:
    """Compiles for ever with one attention, at once with the other."""

    def __init__(self, bench, mode, backend):
        self.backend = backend

    def prepare(self):
        if self.backend == "flash":
            time.sleep(60)


class BaselineTest(unittest.TestCase):
    def test_a_variant_that_compiles_too_long_costs_only_itself(self):
        added, kept = [], torch_baseline.Variant
        self.addCleanup(setattr, torch_baseline, "Variant", kept)
        torch_baseline.Variant = SlowVariant
        ready = torch_baseline.prepare_variants(
            SimpleNamespace(name="case", device="cpu"),
            ("default",),
            ("cudnn", "flash", "cudnn"),
            time.monotonic() + 0.2,
            SimpleNamespace(add=lambda name, **fields: added.append((name, fields["error"]))),
        )
        self.assertEqual([variant.backend for variant in ready], ["cudnn"])
        self.assertEqual([name for name, _ in added], ["case default flash", "case default cudnn"])
        self.assertIn("OutOfTime", added[0][1])
        self.assertIn("no time left", added[1][1])


if __name__ == "__main__":
    unittest.main()
