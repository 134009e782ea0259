#!/usr/bin/env python3
"""bench/train/run.py -- whole training steps, Lockstep beside others, interleaved turn by turn in one run.

    bench/train/run.py build/release [--pairs 10] [--cases char-b4-t256-bf16,...] [--against eager,compiled]
                       [--llmc FOLDER] [--before BUILD] [--markdown FILE]

Every round gives each program a few steps, one program after the other; a side's figure is the median step, ours without the
first (the others' processes live on between their turns and were warmed up).
A ratio is the other's time / ours, its median and range over the rounds: absolutes drift on shared machines, ratios less.
eager and compiled (torch.compile) are PyTorch with the best settings known for a CPU: see torch_gpt.py.
--llmc: llm.c's CPU program, built from the train_gpt2.c in FOLDER; fp32 only, and without clipping, which it does not have.
--before: another build of this program.
Needs PyTorch for eager and compiled; nothing of the build or the tests does.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

CHAR = dict(layers=6, width=384, heads=6, vocab=128, positions=256)
GPT2 = dict(layers=12, width=768, heads=12, vocab=50304, positions=1024)
CASES = {
    f"{name}-b{batch}-t{context}-{precision}": dict(model=model, batch=batch, context=context, precision=precision, steps=steps)
    for name, model, batch, context, steps in (
        ("char", CHAR, 4, 64, 6), ("char", CHAR, 4, 256, 6), ("char", CHAR, 16, 64, 6), ("char", CHAR, 16, 256, 4),
        ("gpt2", GPT2, 4, 64, 4), ("gpt2", GPT2, 4, 256, 3), ("gpt2", GPT2, 4, 1024, 2), ("gpt2", GPT2, 16, 64, 3),
        ("gpt2", GPT2, 16, 256, 2), ("gpt2", GPT2, 16, 1024, 2))
    for precision in ("bf16", "fp32")
}
USUAL = "char-b4-t256-bf16,char-b4-t256-fp32,gpt2-b4-t64-bf16,gpt2-b4-t64-fp32"
HERE = pathlib.Path(__file__).resolve().parent


def job_text(case):
    m = case["model"]
    return f"""return job {{
  name = "bench",
  model = {{ "gpt2", layers = {m['layers']}, width = {m['width']}, heads = {m['heads']}, vocab = {m['vocab']}, positions = {m['positions']} }},
  data = "synthetic",
  train = {{ batch = "{case['batch']} sequences", microbatch = {case['batch']}, context = {case['context']}, steps = {case['steps']} }},
  optimizer = {{ "adamw", lr = 1e-4 }},
  precision = "{case['precision']}",
  checkpoint = {{ every = "never", resume = "never" }},
}}
"""


class Lockstep:
    """This program, one run for each turn."""

    def __init__(self, case, folder, build):
        self.build, self.folder = build, folder / build.parent.name / build.name
        self.folder.mkdir(parents=True)
        self.name = "Lockstep"
        (self.folder / "bench.lua").write_text(job_text(case))

    def steps(self, count):
        run = subprocess.run([str(self.build / "lockstep"), "run", "bench.lua", "--quiet"], cwd=self.folder, text=True,
                             capture_output=True)
        if run.returncode:
            sys.exit(run.stderr)
        lines = (self.folder / "runs/bench/metrics.jsonl").read_text().splitlines()
        return [row["step_ms"] / 1e3 for row in map(json.loads, lines) if "step_ms" in row][1:]

    def close(self):
        pass


class Waiting:
    """A program that waits between its turns: numbers of steps go in, lines of JSON come out."""

    def __init__(self, name, command):
        environment = dict(os.environ, OMP_NUM_THREADS="2", CUDA_VISIBLE_DEVICES="")
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
        self.name = f"{name} {self.answer()['version']}"

    def answer(self):
        for line in self.process.stdout:
            if line.startswith("{"):
                return json.loads(line)
        sys.exit(f"{self.process.args[0]} has ended without an answer")

    def steps(self, count):
        self.process.stdin.write(f"{count}\n")
        self.process.stdin.flush()
        return self.answer()["seconds"]

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def torch(case, compiled):
    command = [sys.executable, str(HERE / "torch_gpt.py"), "--threads", "2", "--precision", case["precision"],
               "--batch", str(case["batch"]), "--context", str(case["context"])]
    for key, value in case["model"].items():
        command += ["--" + key, str(value)]
    return Waiting("PyTorch", command + (["--compile"] if compiled else []))


def llmc(case, folder, source):
    program = folder / "llmc_steps"
    text = (source / "train_gpt2.c").resolve()
    if not text.exists():
        sys.exit(f"--llmc: there is no {text}")
    subprocess.run(["gcc", "-Ofast", "-march=native", "-fopenmp", "-w", f"-I{source}", f'-DLLMC_SOURCE="{text}"',
                    str(HERE / "llmc_steps.c"), "-lm", "-o", str(program)], check=True)
    sizes = [case["model"][key] for key in ("layers", "width", "heads", "vocab", "positions")]
    return Waiting("", [str(program), *map(str, sizes), str(case["batch"]), str(case["context"]), str(folder / "weights")])


def others(case, folder, a):
    """By name; the program before comes last, right before ours of the next round."""
    sides = {}
    for name in a.against:
        sides[name] = torch(case, name == "compiled")
    if a.llmc and case["precision"] == "fp32":
        sides["llm.c"] = llmc(case, folder, a.llmc)
    if a.before:
        sides["before"] = Lockstep(case, folder, a.before.resolve())
    return sides


def measure(name, case, a):
    """One result for each opponent."""
    with tempfile.TemporaryDirectory() as text:
        folder = pathlib.Path(text)
        mine, sides = Lockstep(case, folder / "ours", a.build.resolve()), others(case, folder, a)
        rows = []
        for pair in range(a.pairs):
            row = {"ours": statistics.median(mine.steps(case["steps"]))}
            for side, program in sides.items():
                row[side] = statistics.median(program.steps(case["steps"] - 1))
            rows.append(row)
            print(f"{name}  {pair + 1}/{a.pairs}  " + "  ".join(f"{side} {s * 1e3:.1f} ms" for side, s in row.items()),
                  file=sys.stderr, flush=True)
        for program in sides.values():
            program.close()
    tokens = case["batch"] * case["context"]
    results = []
    for side, program in sides.items():
        ratios = sorted(row[side] / row["ours"] for row in rows)
        results.append(dict(case=name, side=side, version=program.name, ratio=statistics.median(ratios), low=ratios[0],
                            high=ratios[-1], pairs=a.pairs, ours=tokens / statistics.median(row["ours"] for row in rows),
                            theirs=tokens / statistics.median(row[side] for row in rows)))
    return results


def table(results):
    lines = ["| model | against | ours tokens/s | theirs tokens/s | ratio | range over pairs | pairs |", "|---|---|---|---|---|---|---|"]
    for r in results:
        lines.append(f"| {r['case']} | {r['side']} | {r['ours']:,.0f} | {r['theirs']:,.0f} | **{r['ratio']:.2f}** | "
                     f"{r['low']:.2f} to {r['high']:.2f} | {r['pairs']} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--cases", default=USUAL, help="of " + ", ".join(CASES))
    parser.add_argument("--against", default="eager", help="of eager, compiled; or none")
    parser.add_argument("--llmc", type=pathlib.Path, help="a folder with llm.c's train_gpt2.c and llmc/")
    parser.add_argument("--before", type=pathlib.Path, help="another build folder of this program")
    parser.add_argument("--markdown", type=pathlib.Path, help="also write the table there")
    a = parser.parse_args()
    a.against = [] if a.against == "none" else a.against.split(",")
    for name in a.cases.split(","):
        if name not in CASES:
            sys.exit(f"no case {name}; there are {', '.join(CASES)}")
    for name in a.against:
        if name not in ("eager", "compiled"):
            sys.exit(f"--against {name}: there are eager, compiled; or none")
    if not a.against and not a.llmc and not a.before:
        sys.exit("nothing to compare with: --against, --llmc or --before")
    results = [result for name in a.cases.split(",") for result in measure(name, CASES[name], a)]
    print(table(results))
    print(", ".join(sorted({r["version"].strip() for r in results})) + "; 2 threads each")
    if a.markdown:
        a.markdown.write_text(table(results) + "\n")


if __name__ == "__main__":
    main()
