#!/usr/bin/env python3
"""Published step times against the expected ones: a page of errors.

    bench/published/run.py [--lockstep FILE] [--table NAME]... [--rows FILE] [-D KEY=VALUE]...

Each row of tables/ becomes a job, `lockstep explain --json` prices it under the software profile of
the program that was measured, and the page (Markdown, on stdout) has every row, its error, and by
table the mean, rows in the range, Kendall's tau and what 45 % MFU would say. --rows keeps rows whose
key is in FILE. Rows that need what Lockstep does not have (fp8, experts, ZB-2p) are counted.
"""
import argparse
import concurrent.futures
import csv
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))


def lua(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, (list, tuple)):
        return "{ " + ", ".join(lua(v) for v in value) + " }"
    parts = [lua(value[key]) for key in [1] if key in value]
    parts += [f"{key} = {lua(v)}" for key, v in value.items() if key != 1 and v is not None]
    return "{ " + ", ".join(parts) + " }"


def read(name):
    with open(os.path.join(HERE, "tables", name)) as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def slack(software):
    with open(os.path.join(ROOT, "specs", "software", software + ".lua")) as file:
        found = re.search(r"slack = ([0-9.]+)", file.read())
    return float(found.group(1)) if found else 1.0


class Row:
    """key; the measured seconds of a step; the job, or why there is none; a group within which
    configurations of one problem compete."""

    def __init__(self, key, seconds, job=None, missing=None, group=None):
        self.key, self.seconds, self.job, self.missing, self.group = key, seconds, job, missing, group


def job(model, device, gpus, *, seq, batch, microbatch=1, tp=1, pp=1, cp=1, zero=0, recompute="none",
        precision="bf16", software, sequence=None, pipeline=None, stages=None, cluster=None,
        cp_kind=None, grad=None, zero_group=None):
    """batch in sequences."""
    per_node = min(gpus, 8)
    spec = {1: cluster or {"a100": "dgx-a100", "h100": "dgx-h100", "b200": "dgx-b200",
                           "h200": "dgx-h200", "h100-500w": "dgx-h100"}[device],
            "nodes": max(1, gpus // 8), "devices": per_node, "software": software}
    if device == "h100-500w":
        spec["device"] = "h100-sxm-96"
    if device == "b200":
        spec["device"] = os.path.join(HERE, "b200-simumax.lua")
    parallel = {"tp": tp, "pp": pp, "cp": cp, "zero": zero}
    if sequence is not None and tp > 1:
        parallel["sequence"] = sequence
    if pipeline:
        parallel["pipeline"] = pipeline
    if stages:
        parallel["stages"] = stages
    if cp_kind and cp > 1:
        parallel["cp_kind"] = cp_kind
    if zero_group:
        parallel["zero_group"] = zero_group
    return {
        "model": model,
        "data": {1: "synthetic"},
        "train": {"batch": f"{batch} sequences", "microbatch": microbatch, "context": seq, "steps": 100},
        "optimizer": {1: "adamw", "lr": 1e-4},
        "precision": {1: precision, "grad": grad or "fp32"},
        "cluster": spec,
        "parallel": parallel,
        "memory": {"budget": "100TB", "recompute": recompute},
    }


def gpt(layers, width, heads, seq, vocab, dropout=0.1):
    return {1: "gpt2", "layers": layers, "width": width, "heads": heads, "positions": seq,
            "vocab": vocab, "dropout": dropout}


def interleaved(chunks):
    return {1: "interleaved", "chunks": chunks} if chunks > 1 else None


def korthikanti():
    for r in read("korthikanti2022_table3_table5.csv"):
        full = r["recompute"] == "full"
        model = gpt(int(r["layers"]), int(r["hidden"]), int(r["heads"]), 2048, 51200)
        yield Row(f"{r['model']} {r['recompute']}", float(r["iter_time_s"]), job(
            model, "a100", int(r["gpus"]), seq=2048, batch=int(r["global_batch_seq"]),
            microbatch=int(r["micro_batch_seq"]), tp=8, pp=int(r["pp"]),
            recompute="block" if full else "none", sequence=not full,
            software="megatron-2022" if full else "megatron-2022-selective", precision="fp16",
            pipeline=interleaved(int(r["interleave_v"]))), group=r["model"])


def zero_bubble():
    words = {"1F1B": "1f1b", "ZB-1p": "zb-h1", "1F1B-I": "interleaved"}
    for r in read("zero_bubble_table4.csv"):
        pp, m, b = (int(r[k]) for k in ("pp_gpus", "num_microbatches", "micro_batch_seq"))
        layers = int(r["layers"])
        seconds = m * b / pp / float(r["samples_per_gpu_per_s"])
        key = f"{r['model']} {r['schedule']} m={m}"
        if r["schedule"] not in words:
            yield Row(key, seconds, missing="a schedule with twice the memory")
            continue
        model = gpt(layers, int(r["hidden"]), int(r["heads"]), 1024, 51200)
        chunks = (layers + 2) // pp
        if r["schedule"] == "1F1B-I":
            yield Row(key, seconds, missing="chunks without layers")
            continue
        stages, pipeline = [chunks - 1] + [chunks] * (pp - 2) + [chunks - 1], words[r["schedule"]]
        yield Row(key, seconds, job(
            model, "a100", pp, seq=1024, batch=m * b, microbatch=b, pp=pp, pipeline=pipeline,
            stages=stages, software="megatron-2023", precision="bf16"), group=f"{r['model']} m={m}")


def narayanan1():
    for r in read("narayanan2021_table1_weak_scaling.csv"):
        layers, h, pp, tp, dp = (int(r[k]) for k in ("layers", "hidden", "pp", "tp", "dp_derived"))
        gpus, batch = int(r["gpus"]), int(r["global_batch_seq"])
        flops = 96 * batch * 2048 * layers * h * h * (1 + 2048 / (6 * h) + 51200 / (16 * layers * h))
        seconds = flops / gpus / float(r["achieved_tflops_per_gpu_incl_recompute"]) / 1e12
        # Micro-batch and chunks are not in the table: 4 without a pipeline, else 1; 2 or 3 chunks.
        chunks = next((c for c in (2, 3) if pp > 1 and layers % (pp * c) == 0), 1)
        mb = next(m for m in ((4, 2, 1) if pp == 1 else (1,)) if batch // dp % m == 0)
        yield Row(f"{r['params_B']}B", seconds, job(
            gpt(layers, h, int(r["heads"]), 2048, 51200), "a100", gpus, seq=2048, batch=batch,
            microbatch=mb, tp=tp, pp=pp, recompute="block", sequence=False,
            software="megatron-2021", precision="fp16", pipeline=interleaved(chunks)))


def narayanan2():
    sizes = {"174.6": (96, 12288, 96), "529.6": (105, 20480, 128)}
    for r in read("narayanan2021_table2_zero3_vs_ptdp.csv"):
        layers, h, heads = sizes[r["params_B"]]
        batch, gpus, mb = (int(r[k]) for k in ("global_batch_seq", "gpus", "micro_batch_seq"))
        flops = 96 * batch * 2048 * layers * h * h * (1 + 2048 / (6 * h) + 51200 / (16 * layers * h))
        seconds = flops / gpus / float(r["achieved_tflops_per_gpu_incl_recompute"]) / 1e12
        key = f"{r['params_B']}B {r['scheme']} {gpus}"
        model = gpt(layers, h, heads, 2048, 51200)
        if r["scheme"] == "ZeRO-3":
            spec = job(model, "a100", gpus, seq=2048, batch=batch, microbatch=mb, zero=3,
                       recompute="block", software="deepspeed-2021", precision="fp16")
        else:
            pp = 12 if layers == 96 else 35
            spec = job(model, "a100", gpus, seq=2048, batch=batch, microbatch=mb, tp=8, pp=pp,
                       recompute="block", sequence=False, software="megatron-2021",
                       precision="fp16", pipeline=interleaved(2 if layers == 96 else 3))
        yield Row(key, seconds, spec, group=f"{r['params_B']}B {r['scheme']}")


def llmc():
    sizes = {"gpt2_124M": (12, 768, 12), "gpt2_350M": (24, 1024, 16), "gpt2_774M": (36, 1280, 20),
             "gpt2_1558M": (48, 1600, 25), "gpt3_125M": (12, 768, 12)}
    for r in read("llmc_step_times.csv"):
        name = r["script"][4:-3]
        layers, h, heads = sizes[name]
        seq = 2048 if name.startswith("gpt3") else 1024
        tokens = 1048576 if "1558" in name else 524288
        mb = {"gpt2_124M": 64, "gpt2_350M": 64, "gpt2_774M": 32, "gpt2_1558M": 16, "gpt3_125M": 32}[name]
        device = "h100" if r["gpu"].startswith("H100") else "a100"
        if name == "gpt3_125M":  # 6 N FLOPs a token in 150 ms are 328 TFLOP/s of each A100
            yield Row(name, float(r["sec_per_iter"]), missing="a time below the device's peak")
            continue
        yield Row(name, float(r["sec_per_iter"]), job(
            gpt(layers, h, heads, seq, 50304, 0), device, 8, seq=seq, batch=tokens // seq,
            microbatch=mb, zero=1, software="llmc"))


LLAMA = {"llama3-8b": (32, 4096, 32, 8, 14336, 128256), "llama3-70b": (80, 8192, 64, 8, 28672, 128256),
         "llama3-405b": (126, 16384, 128, 8, 53248, 128256), "llama2-13b": (40, 5120, 40, 40, 13824, 32000),
         "llama2-70b": (80, 8192, 64, 8, 28672, 32000)}


def llama(name, seq, layers=None, kv=None):
    sizes = LLAMA[name.lower().replace("llama3.1", "llama3")]
    return {1: "llama", "layers": layers or sizes[0], "width": sizes[1], "heads": sizes[2],
            "kv_heads": kv or sizes[3], "ffn": sizes[4], "vocab": sizes[5], "positions": seq}


def simumax():
    for r in read("simumax_b200_real_vs_pred_half.csv"):
        seconds = float(r["real_iter_ms"]) / 1e3
        if r["model"] not in LLAMA:
            yield Row(r["case"], seconds, missing="experts")
            continue
        seq, layers, m = (int(r[k]) for k in ("seq_len_tokens", "layers_used", "num_microbatches_mbc"))
        tp, pp, dp, cp = (int(r[k]) for k in ("tp", "pp", "dp", "cp"))
        yield Row(r["case"], seconds, job(
            llama(r["model"], seq, layers, 16 if "405b" in r["model"] else None), "b200", 8, seq=seq,
            batch=m * dp, tp=tp, pp=pp, cp=cp, zero=1 if dp * cp > 1 else 0, sequence=True,
            cp_kind="ulysses", software="megatron-2025", stages=[layers // pp] * pp if pp > 1 else None))


def torchtitan():
    for i, r in enumerate(read("torchtitan_benchmarks.csv")):
        gpus, fsdp, tp, pp, cp = (int(r[k]) for k in ("gpus", "fsdp", "tp", "pp", "cp"))
        seq, mb = int(r["seq_len_tokens"]), int(r["local_batch_seq"])
        batch = int(r["global_batch_seq"] or mb * fsdp)
        seconds = batch * seq / gpus / float(r["tokens_per_s_per_gpu"])
        key = f"{r['source'].split('@')[0]} {r['model']} {gpus} {r['act_ckpt']} {r['techniques']}"
        if "float8" in r["techniques"]:
            yield Row(key, seconds, missing="fp8")
            continue
        if "asyncTP" in r["techniques"]:
            yield Row(key, seconds, missing="products that overlap their communication")
            continue
        device = "a100" if r["gpu"].startswith("A100") else "h100-500w" if "500W" in r["gpu"] else "h200"
        recompute = {"full": "block", "none": "none", "selective layer": {1: "every", "blocks": 2},
                     "default": {1: "every", "blocks": 2}}.get(
            # Of operators every second product is computed again: half of them, as of layers.
            r["act_ckpt"], {1: "every", "blocks": 2})
        yield Row(key, seconds, job(
            llama(r["model"], seq), device, gpus, seq=seq, batch=batch, microbatch=mb, tp=tp, pp=pp,
            cp=cp, zero=3, recompute=recompute, sequence=True, grad="bf16" if False else None,
            software="fsdp-compile" if "compile" in r["techniques"] else "fsdp"),
            group=f"{r['model']} {gpus} {device} {mb}")


def llama3():
    for r in read("llama3_table4.csv"):
        gpus, tp, cp, pp, seq = (int(r[k]) for k in ("gpus", "tp", "cp", "pp", "seq_len_tokens"))
        batch = int(r["batch_per_dp_seq"]) * (gpus // (tp * cp * pp))
        model = llama("llama3-405b", seq)
        # The table has TFLOP/s a GPU, counted without recomputation and with half the scores.
        h, f, L = 16384, 53248, 126
        dense = L * (h * h * 2 + 2 * h * 1024 + 3 * h * f) + h * 128256
        flops = 6 * dense + 6 * L * h * seq
        seconds = flops * batch * seq / gpus / float(r["bf16_tflops_per_gpu"]) / 1e12
        yield Row(f"{gpus} GPUs seq {seq}", seconds, job(
            model, "h100", gpus, seq=seq, batch=batch, tp=tp, cp=cp, pp=pp, zero=2, sequence=True,
            cp_kind="ring", pipeline=interleaved(4), software="meta-2024"))


def dgxc():
    for r in read("dgxc_llama31_bf16_h100_2411.csv"):
        gpus, tp, pp, dp, cp = (int(r[k]) for k in ("gpus", "tp", "pp", "dp", "cp"))
        name = r["model"].split("-l")[0] if "-l" in r["model"] else r["model"]
        yield Row(r["row_id"][6:], float(r["measured_step_s"]), job(
            llama(name, 8192, int(r["layers"])), "h100", gpus, seq=8192, batch=int(r["global_batch_seq"]),
            tp=tp, pp=pp, cp=cp, zero=1 if dp * cp > 1 else 0, sequence=True, cp_kind="ring",
            pipeline=interleaved(int(r["virtual_stages"])) if pp > 1 else None,
            software="nemo-2411"), group=None)


TABLES = {
    "korthikanti": (korthikanti, "Korthikanti et al. 2022, table 5", 2),
    "zero-bubble": (zero_bubble, "Zero Bubble, table 4", 4),
    "narayanan1": (narayanan1, "Narayanan et al. 2021, table 1", 6),
    "narayanan2": (narayanan2, "Narayanan et al. 2021, table 2", None),
    "llmc": (llmc, "llm.c, comments of its scripts", 5),
    "simumax": (simumax, "SimuMax, 8 x B200 (half of its rows)", 4),
    "torchtitan": (torchtitan, "torchtitan", 8),
    "llama3": (llama3, "Llama 3, table 4", 8),
    "dgxc": (dgxc, "DGX Cloud benchmarking 24.11, Llama 3.1", 6),
}


def explain(lockstep, row, overrides, folder):
    path = os.path.join(folder, "".join(c if c.isalnum() else "_" for c in row.key) + ".lua")
    with open(path, "w") as file:
        file.write("return job " + lua(row.job) + "\n")
    words = [word for pair in overrides for word in ("-D", pair)]
    done = subprocess.run([lockstep, "explain", path, "--json", *words], cwd=ROOT, check=False,
                          capture_output=True, text=True)
    try:
        return json.loads(done.stdout)
    except ValueError:
        return {"error": (done.stderr or done.stdout).strip().split("\n")[0][:200]}


def kendall(pairs):
    """tau-a over pairs whose measured times differ."""
    total = agree = 0
    for i, (a, x) in enumerate(pairs):
        for b, y in pairs[i + 1:]:
            if a == b:
                continue
            total += 1
            agree += (1 if (a - b) * (x - y) > 0 else -1 if (a - b) * (x - y) < 0 else 0)
    return (agree, total)


# Measured time over that without slack, by software and table.
RATIOS = {}


def calibration(details):
    details += ["", "## Slack, and what the other tables say", "",
                "| software | in its file | by its rows | by table |", "|---|---|---|---|"]
    for software, tables in RATIOS.items():
        every = [ratio for list_ in tables.values() for ratio in list_]
        parts = ", ".join(f"{name} {statistics.median(list_):.3f}" for name, list_ in tables.items())
        details.append(f"| {software} | {slack(software):.3f} | {statistics.median(every):.3f} | {parts} |")


def quantile(list_, share):
    return sorted(list_)[int(share * (len(list_) - 1))]


def leave_one_out(details):
    """Each table with the median slack of the others, and what that leaves of all rows. Programs
    that say nothing about others are left out: DeepSpeed's communication is not modelled. Returns
    the mean errors."""
    errors = {}
    tables = {}
    for software, by_table in RATIOS.items():
        for name, list_ in by_table.items():
            if software != "deepspeed-2021":
                tables.setdefault(name, []).extend(list_)
    if len(tables) < 2:
        return errors
    details += ["", "## Each table by the others", "", "| table | slack of the others | mean error |",
                "|---|---|---|"]
    left = []
    for name, list_ in tables.items():
        others = statistics.median(statistics.median(v) for k, v in tables.items() if k != name)
        left += [ratio / others for ratio in list_]
        error = statistics.mean(abs(others / ratio - 1) for ratio in list_)
        errors[name] = 100 * error
        details.append(f"| {name} | {others:.3f} | {100 * error:.1f} % |")
    details += ["", f"Measured over expected times then: quantiles 0.1 and 0.9 of {len(left)} rows are "
                f"{quantile(left, 0.1):.2f} and {quantile(left, 0.9):.2f}."]
    return errors


# By table and group: pairs of measured and expected times of one problem's configurations.
RANKS = {}


def choices(details):
    """The configuration that is expected to be the fastest of each problem, and how much longer it takes than the one
    that is: its regret. Problems with one measured configuration are left out."""
    rows = []
    for (table, group), pairs in RANKS.items():
        if len(pairs) > 1:
            best = min(seconds for seconds, _ in pairs)
            chosen = min(pairs, key=lambda pair: pair[1])[0]
            agree, total = kendall(pairs)
            rows.append((table, group, len(pairs), chosen / best - 1, agree / total if total else math.nan))
    if not rows:
        return
    details += ["", "## Choice among measured configurations", "",
                "| table | problem | configurations | regret of the choice | tau |", "|---|---|---|---|---|"]
    details += [f"| {table} | {group} | {count} | {100 * regret:.1f} % | {tau:.2f} |"
                for table, group, count, regret, tau in rows]
    regrets, taus = [row[3] for row in rows], [row[4] for row in rows if not math.isnan(row[4])]
    details += ["", f"Regret of {len(rows)} problems: {100 * statistics.mean(regrets):.1f} % in the mean, "
                f"{100 * max(regrets):.1f} % at most. Mean tau: {statistics.mean(taus):.2f}."]


def run(arguments):
    totals, details = {}, []
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        for name in arguments.table or TABLES:
            make, title, aim = TABLES[name]
            rows = list(make())
            if arguments.rows:
                wanted = open(arguments.rows).read().split("\n")
                rows = [r for r in rows if f"{name}: {r.key}" in wanted]
            asked = [r for r in rows if r.job]
            answers = list(pool.map(lambda r: explain(arguments.lockstep, r, arguments.D, folder), asked))
            totals[name] = summary(name, title, aim, rows, list(zip(asked, answers)), details)
    calibration(details)
    others = leave_one_out(details)
    choices(details)
    print("| table | rows | aim | mean error | a priori | by the others | bias | in range | tau | 45 % MFU "
          "| floors above | left out |")
    print("|---|---|---|---|---|---|---|---|---|---|---|---|")
    for name, total in totals.items():
        by_others = f"{others[name]:.1f} %" if name in others else "-"
        print("| " + " | ".join(total["first"] + [by_others] + total["rest"]) + " |")
    print()
    print("\n".join(details))
    return any(total["floors"] for total in totals.values())


def summary(name, title, aim, rows, answered, details):
    errors, inside, floors, guess, ranks, priori, ratios = [], 0, 0, [], {}, [], {}
    details += ["", f"## {title}", "", "| row | measured s | expected s | range s | error | floor s | mfu | parts |",
                "|---|---|---|---|---|---|---|---|"]
    for row, answer in answered:
        if "error" in answer or not answer.get("predicted_step_ns"):
            details.append(f"| {row.key} | {row.seconds:.3f} | - | - | {answer.get('error', 'no time')} | | | |")
            continue
        expected, floor = answer["predicted_step_ns"] / 1e9, answer["floor_step_ns"] / 1e9
        low, high = (t / 1e9 for t in answer.get("range_ns") or (0, 0))
        error = expected / row.seconds - 1
        errors.append(error)
        software = row.job["cluster"]["software"]
        priori.append(expected / slack(software) / row.seconds - 1)
        ratios.setdefault(software, []).append(row.seconds * slack(software) / expected)
        inside += low <= row.seconds <= high
        floors += floor > row.seconds
        if answer.get("mfu"):
            guess.append(expected * answer["mfu"] / 0.45 / row.seconds - 1)
        if row.group:
            ranks.setdefault(row.group, []).append((row.seconds, expected))
        parts = answer.get("parts") or {}
        exposed = sum(parts.get("exposed_ns", {}).values())
        share = lambda ns: f"{100 * ns / answer['predicted_step_ns']:.0f}"
        details.append(
            f"| {row.key} | {row.seconds:.3f} | {expected:.3f} | {low:.3f} to {high:.3f} | {100 * error:+.1f} % "
            f"| {floor:.3f}{' ABOVE' if floor > row.seconds else ''} | {100 * (answer.get('mfu') or 0):.0f} % "
            f"| compute {share(parts.get('compute_ns', 0))}, exposed {share(exposed)}, bubble "
            f"{share(parts.get('bubble_ns', 0))}, other {share(parts.get('other_ns', 0))} |")
    missing = {}
    for row in rows:
        if row.missing:
            missing[row.missing] = missing.get(row.missing, 0) + 1
    mean = lambda list_: sum(abs(e) for e in list_) / len(list_) * 100 if list_ else math.nan
    for software, list_ in ratios.items():
        RATIOS.setdefault(software, {})[name] = list_
    RANKS.update({(name, group): pairs for group, pairs in ranks.items()})
    taus = [kendall(pairs) for pairs in ranks.values()]
    agree, total = sum(t[0] for t in taus), sum(t[1] for t in taus)
    percent = lambda number: f"{number:.1f} %"
    return {"floors": floors,
            "first": [title, str(len(errors)), f"{aim} %" if aim else "-", percent(mean(errors)),
                      percent(mean(priori))],
            "rest": [f"{100 * sum(errors) / max(1, len(errors)):+.1f} %", str(inside),
                     f"{agree / total:.2f}" if total else "-", percent(mean(guess)), str(floors),
                     ", ".join(f"{n}: {why}" for why, n in missing.items()) or "0"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lockstep", default=os.path.join(ROOT, "build/release/lockstep"))
    parser.add_argument("--table", action="append", choices=list(TABLES))
    parser.add_argument("--rows")
    parser.add_argument("-D", action="append", default=[])
    return run(parser.parse_args())


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
