#!/usr/bin/env python3
"""bench/train/run.py -- whole training steps, Lockstep beside PyTorch, interleaved pair by pair in one run.

    bench/train/run.py build/release [--pairs 10] [--cases char-b4-bf16,...] [--markdown FILE]

Each pair gives both programs a few steps one after the other; a side's figure is the median step, ours without the first
(PyTorch's process lives on between its turns and was warmed up).
The ratio is PyTorch's time / ours, its median and range over the pairs: absolutes drift on shared machines, ratios less.
Needs PyTorch; nothing of the build or the tests does.
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
        ("char", CHAR, 4, 256, 6), ("char", CHAR, 16, 256, 4), ("gpt2", GPT2, 4, 64, 4), ("gpt2", GPT2, 4, 256, 3))
    for precision in ("bf16", "fp32")
}
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
  checkpoint = {{ every = "1000000 steps", resume = "never" }},
}}
"""


def ours(build, case, folder):
    """Seconds of each step."""
    job = folder / "bench.lua"
    job.write_text(job_text(case))
    subprocess.run([str(build / "lockstep"), "run", str(job), "--quiet"], cwd=folder, check=True, capture_output=True)
    lines = (folder / "runs/bench/metrics.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    return [row["step_ms"] / 1e3 for row in rows if "step_ms" in row]


class Torch:
    """PyTorch in a process of its own that waits between its turns."""

    def __init__(self, case, compiled):
        command = [sys.executable, str(HERE / "torch_gpt.py"), "--threads", "2", "--precision", case["precision"],
                   "--batch", str(case["batch"]), "--context", str(case["context"])]
        for key, value in case["model"].items():
            command += ["--" + key, str(value)]
        if compiled:
            command.append("--compile")
        environment = dict(os.environ, OMP_NUM_THREADS="2", CUDA_VISIBLE_DEVICES="")
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
        self.version = json.loads(self.process.stdout.readline())["version"]

    def steps(self, count):
        self.process.stdin.write(f"{count}\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())["seconds"]

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def measure(name, case, build, pairs, compiled):
    rows = []
    torch = Torch(case, compiled)
    with tempfile.TemporaryDirectory() as folder:
        for pair in range(pairs):
            mine = statistics.median(ours(build, case, pathlib.Path(folder))[1:])
            other = statistics.median(torch.steps(case["steps"] - 1))
            rows.append((mine, other))
            print(f"{name}  pair {pair + 1}/{pairs}   ours {mine * 1e3:8.1f} ms   PyTorch {other * 1e3:8.1f} ms   "
                  f"ratio {other / mine:.2f}", file=sys.stderr, flush=True)
    torch.close()
    ratios = sorted(b / a for a, b in rows)
    tokens = case["batch"] * case["context"]
    return dict(case=name, torch=torch.version, compiled=compiled, pairs=pairs, ratio=statistics.median(ratios),
                low=ratios[0], high=ratios[-1], ours=tokens / statistics.median(a for a, _ in rows),
                theirs=tokens / statistics.median(b for _, b in rows))


def table(results):
    lines = ["| model | ours tokens/s | PyTorch tokens/s | ratio | range over pairs | pairs |", "|---|---|---|---|---|---|"]
    for r in results:
        mode = " compiled" if r["compiled"] else ""
        lines.append(f"| {r['case']} | {r['ours']:,.0f} | {r['theirs']:,.0f}{mode} | **{r['ratio']:.2f}** | "
                     f"{r['low']:.2f} to {r['high']:.2f} | {r['pairs']} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--compile", action="store_true", help="PyTorch with torch.compile")
    parser.add_argument("--markdown", type=pathlib.Path, help="also write the table there")
    a = parser.parse_args()
    for name in a.cases.split(","):
        if name not in CASES:
            sys.exit(f"no case {name}; there are {', '.join(CASES)}")
    results = [measure(name, CASES[name], a.build.resolve(), a.pairs, a.compile) for name in a.cases.split(",")]
    print(table(results))
    print(f"PyTorch {results[0]['torch']}, 2 threads each")
    if a.markdown:
        a.markdown.write_text(table(results) + "\n")


if __name__ == "__main__":
    main()
