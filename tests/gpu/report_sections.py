"""The sections of the page that tests/gpu/report writes, one function each: results to markdown."""

from report_meaning import meaning_section

DATASHEET = {  # dense bf16 TFLOP/s, memory GB/s; NVIDIA's data sheets
    "NVIDIA H200": (989.4, 4800.0),
    "NVIDIA H100 80GB HBM3": (989.4, 3350.0),
    "NVIDIA A100-SXM4-80GB": (312.0, 2039.0),
}


class Results:
    """The records of one run, and how to find among them."""

    def __init__(self, records, facts):
        self.records, self.facts = records, facts

    def all(self, probe, kind=None):
        return [r for r in self.records if r["probe"] == probe and kind in (None, r.get("kind"))]

    def good(self, probe, kind=None):
        return [r for r in self.all(probe, kind) if r["ok"]]

    def find(self, probe, case):
        return next((r for r in self.records if r["probe"] == probe and r["case"] == case), None)

    def is_fixture(self):
        return any(r["probe"] == "fixture" for r in self.records)

    def device_name(self):
        return (self.find("device", "properties") or {}).get("name", "unknown device")

    def datasheet(self):
        return DATASHEET.get(self.device_name(), (None, None))

    def matmul_peak(self):
        """Measured TFLOP/s of a large bf16 matmul, or None."""
        return next((r["tflops"] for r in self.good("matmul", "ceiling")), None)

    def copy_peak(self):
        """Measured GB/s, read plus written, or None."""
        rates = [
            r["bandwidth_gb_per_s"] for r in self.good("device", "memory") if "copy" in r["case"]
        ]
        return max(rates, default=None)


def percent(part, whole):
    return f"{100 * part / whole:.0f} %" if part is not None and whole else "-"


def markdown_table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows])


def summary(results, probe, kind):
    """ "5 of 5" """
    return f"{len(results.good(probe, kind))} of {len(results.all(probe, kind))}"


def title_section(results):
    properties = results.find("device", "properties")
    nvml = next(iter(results.good("device", "nvml")), {})
    description = results.find("attention", "device description") or {}
    nccl = next((r for r in results.all("nccl") if "nccl_version" in r), {})
    torch = results.find("torch", "versions") or {}
    facts = results.facts
    mark = "FIXTURE, NOT MEASURED: " if results.is_fixture() else ""
    rows = [
        (
            "device",
            f"{properties['name']}, sm_{properties['compute_capability']}, "
            f"{properties['multiprocessors']} multiprocessors, "
            f"{properties['memory_bytes'] / 2**30:.0f} GiB",
        ),
        ("driver", f"{nvml.get('driver_version', '?')} (CUDA {properties['cuda_driver_version']})"),
        ("CUDA runtime", properties["cuda_runtime_version"]),
        (
            "cuDNN, NCCL, PyTorch",
            f"{description.get('cudnn_version', '-')}, "
            f"{nccl.get('nccl_version', '-')}, {torch.get('torch', '-')}",
        ),
        (
            "power limit, SM clock limit",
            f"{nvml.get('power_limit_w', '?')} W, " f"{nvml.get('sm_clock_max_mhz', '?')} MHz",
        ),
        ("system, nvcc", f"{facts.get('system', '?')}, {facts.get('nvcc', '?')}"),
        ("date, commit", f"{facts.get('date', '?')}, {facts.get('commit', '?')}"),
    ]
    return (
        f"# {mark}GPU measurements on {properties['name']}\n\n"
        "Written by tests/gpu/report from the results of one tests/gpu/run; not edited by hand.\n\n"
        + markdown_table(("what", "value"), rows)
    )


def ceilings_section(results):
    flops, bandwidth = results.datasheet()
    rows = [
        (
            r["case"],
            f"{r['bandwidth_gb_per_s']:.0f} GB/s",
            percent(r["bandwidth_gb_per_s"], bandwidth),
        )
        for r in results.good("device", "memory")
    ]
    if results.matmul_peak():
        peak = results.matmul_peak()
        rows.append(
            ("bf16 matmul 8192^3, random data", f"{peak:.0f} TFLOP/s", percent(peak, flops))
        )
    if not rows:
        return "## Ceilings\n\nNot measured."
    return "## Ceilings\n\n" + markdown_table(("what", "measured", "of the data sheet"), rows)


def matmul_section(results):
    layers = results.good("matmul", "layer")
    if not layers:
        return "## Matmul (cuBLASLt)\n\nNot measured."
    rows = [
        (
            r["case"],
            r["tokens"],
            f"{r['time_us']:.0f}",
            f"{r['tflops']:.0f}",
            percent(r["tflops"], results.matmul_peak()),
            f"{r['first_algorithm_time_us'] / r['time_us']:.2f}",
            f"{r['relative_rms_error']:.1e}",
        )
        for r in layers
    ]
    head = (
        "matmul",
        "tokens",
        "us",
        "TFLOP/s",
        "of bf16 ceiling",
        "first algorithm / best",
        "rms error",
    )
    gelus = [
        f"{r['case'].removeprefix('which ')}: {r['gelu']}" for r in results.good("matmul", "gelu")
    ]
    small = results.good("matmul", "algorithm")
    twice = [
        f"{r['case']} (algorithm {r['algorithm']}, tile {r['tile']}, stages {r['stages']}, "
        f"split {r['split_k']}, reduction {r['reduction']}, flags {r['arithmetic_flags']:#x})"
        for r in small
        if r["rounded_twice"] > 0
    ]
    rounding = (
        f"Of {len(small)} suggestions for small sizes {len(twice)} round the product to bf16 "
        "before the epilogue"
        + "".join(f"\n- {name}" for name in twice)
        + "\n\n"
        if small
        else ""
    )
    return (
        f"## Matmul (cuBLASLt)\n\nChecked against fp64: {summary(results, 'matmul', 'check')} "
        "kinds in "
        f"full, {summary(results, 'matmul', 'layer')} layers by samples. Best of up to 16 "
        "algorithms, "
        f"operands warm in L2 where they fit. Fused {'; '.join(gelus) or 'GELU: not asked'}.\n\n"
        + rounding
        + markdown_table(head, rows)
    )


def attention_section(results):
    timings = results.good("attention", "timing")
    if not timings:
        return "## Attention (cuDNN)\n\nNot measured."
    peak = results.matmul_peak()
    rows = [
        (
            r["case"],
            f"{r['forward_tflops']:.0f}",
            percent(r["forward_tflops"], peak),
            f"{r['backward_tflops']:.0f}",
            percent(r["backward_tflops"], peak),
            f"{r['forward_engine']}, {r['backward_engine']}",
            f"{r['forward_workspace_bytes']}, {r['backward_workspace_bytes']}",
        )
        for r in timings
    ]
    head = (
        "shape",
        "forward TFLOP/s",
        "of ceiling",
        "backward TFLOP/s",
        "of ceiling",
        "engines",
        "workspace bytes",
    )
    return (
        "## Attention (cuDNN)\n\nWithin bf16 rounding of fp64: "
        f"{summary(results, 'attention', 'check')} "
        f"small shapes with plans made on the device, {summary(results, 'attention', 'ahead')} "
        "with "
        "plans made ahead of time without one. Causal attention counts half the square; backward "
        "counts "
        "2.5 forward passes and includes clearing its scratch.\n\n" + markdown_table(head, rows)
    )


def launch_section(results):
    rows = [
        (
            r["case"],
            f"{r['submit_us']:.0f}",
            f"{r['submit_per_kernel_us']:.2f}",
            f"{r['total_us']:.0f}",
            f"{r['total_per_kernel_us']:.2f}",
        )
        for r in results.good("launch")
    ]
    if not rows:
        return "## Launching 300 small kernels\n\nNot measured."
    head = ("how", "host us", "host us a kernel", "until done us", "us a kernel")
    return "## Launching 300 small kernels\n\n" + markdown_table(head, rows)


def nccl_section(results):
    if not results.all("nccl"):
        return "## NCCL, several ranks on one GPU\n\nNot run."
    rows = [(r["case"], "ok" if r["ok"] else "failed") for r in results.all("nccl", "run")]
    reasons = {r["reason"] for r in results.all("nccl", "refusal") if r.get("refused")}
    refusal = "; ".join(sorted(reasons)) or "not refused"
    return (
        f"## NCCL, several ranks on one GPU\n\nCollectives exact: "
        f"{summary(results, 'nccl', 'collective')}. With one host id: {refusal}\n\n"
        + markdown_table(("run", "result"), rows)
    )


def torch_section(results):
    timings = results.good("torch", "timing")
    if not timings:
        return "## PyTorch\n\nNot measured."
    peak = results.matmul_peak()
    rows = [
        (
            r["workload"],
            r["mode"],
            r["attention"],
            f"{r['step_ms']:.2f}",
            f"{r['tokens_per_s']:.0f}",
            percent(r["mfu"], 1.0),
            percent(r["flops_per_token"] * r["tokens_per_s"] * 1e-12, peak),
            f"{r['peak_memory_bytes'] / 1e9:.1f} GB",
        )
        for r in timings
    ]
    head = (
        "workload",
        "torch.compile",
        "attention",
        "ms a step",
        "tokens/s",
        "MFU",
        "of bf16 ceiling",
        "peak memory",
    )
    return (
        f"## PyTorch\n\nMFU: {timings[0]['mfu_convention']}. fp32 weights, bf16 autocast, fused "
        "AdamW; "
        "medians of interleaved rounds.\n\n" + markdown_table(head, rows)
    )


def alone_text(results):
    """Our steps in the cases that have no pairs."""
    paired = {r["workload"] for r in results.good("pairs", "timing")}
    rows = [
        (r["workload"], f"{r['step_ms']:.2f}", f"{r['tokens_per_s']:.0f}", percent(r["mfu"], 1.0))
        for r in results.good("pairs", "alone")
        if r["workload"] not in paired
    ]
    if not rows:
        return ""
    return "\n\nOurs alone, one turn:\n\n" + markdown_table(("workload", "ms a step", "tokens/s", "MFU"), rows)


def pairs_section(results):
    pairs = results.good("pairs", "timing")
    if not pairs:
        return "## Our steps beside PyTorch's\n\nNot measured." + alone_text(results)
    peak = results.matmul_peak()
    rows = [
        (
            r["workload"],
            r["against"],
            f"{r['step_ms']:.2f}",
            f"{r['torch_step_ms']:.2f}",
            f"{r['ratio']:.2f}",
            f"{r['ratio_min']:.2f} to {r['ratio_max']:.2f}",
            r["pairs"],
            f"{r['tokens_per_s']:.0f}",
            percent(r["mfu"], 1.0),
            percent(r["flops_per_token"] * r["tokens_per_s"] * 1e-12, peak),
        )
        for r in pairs
    ]
    head = (
        "workload",
        "against",
        "ours, ms a step",
        "PyTorch's",
        "PyTorch's / ours",
        "range",
        "pairs",
        "tokens/s",
        "MFU",
        "of bf16 ceiling",
    )
    return (
        f"## Our steps beside PyTorch's\n\nMFU: {pairs[0]['mfu_convention']}. Turns alternate; ratios are of "
        "pairs, their median; both train in bf16 with an fp32 master.\n\n"
        + markdown_table(head, rows)
        + alone_text(results)
    )


PROFILE_ROWS = 16


def profile_rows(rows, cells):
    """The longest, and the rest together; then the sum."""
    shown, rest = rows[:PROFILE_ROWS], rows[PROFILE_ROWS:]

    def total(of, name):
        keys = {key for row in of for key, value in row.items() if key != "name"}
        return dict(name=name, **{key: sum(row.get(key, 0) for row in of) for key in keys})

    more = [total(rest, f"{len(rest)} more")] if rest else []
    return [cells(row) for row in [*shown, *more, total(rows, "all")]]


def profile_section(results):
    profiles = results.good("profile")
    if not profiles:
        return "## Where a step's time goes\n\nNot measured."
    texts = []
    for profile in profiles:
        if profile["kind"] == "ours":
            head = ("ours, by kernel", "records", "ms", "predicted", "floor", "measured / floor")

            def cells(row):
                floor = row["floor_us"]
                times = [f"{us * 1e-3:.3f}" for us in (row["us"], row["predicted_us"], floor)]
                return (row["name"], row["count"], *times, f"{row['us'] / floor:.2f}" if floor else "-")
        else:
            head = ("PyTorch's, by kernel", "launches", "ms")

            def cells(row):
                return (row["name"].replace("|", "/"), row["count"], f"{row['us'] * 1e-3:.3f}")

        if profile["rows"]:
            texts.append(f"{profile['case']}:\n\n" + markdown_table(head, profile_rows(profile["rows"], cells)))
    return (
        "## Where a step's time goes\n\nThe GPU's time of one step. The floor of a record is the longer of its bytes at "
        "3.0 TB/s and its FLOPs at 800 TFLOP/s, as the plan counts them; two that are fused count as one.\n\n"
        + "\n\n".join(texts)
    )


def losses_section(results):
    runs = results.all("losses")
    if not runs:
        return "## Losses\n\nNot run."
    rows = [
        (
            r["case"],
            r.get("steps", "-"),
            f"{r['first_step_relative']:.1e}" if "first_step_relative" in r else "-",
            f"{r['worst_relative']:.1e}" if "worst_relative" in r else "-",
            ("ok" if r["ok"] else "FAILED") + (f", ended after {r['ended_s']:.1f} s" if "ended_s" in r else ""),
        )
        for r in runs
    ]
    head = ("job", "steps", "step 1 differs by", "any step by", "result")
    return (
        "## Losses\n\nA small GPT in fp32, on the GPU and by the same plan on processors; those that run again, on the "
        "GPU twice, whose bits are to be the same. Where a rank is lost it is killed, and the other one has to end.\n\n" + markdown_table(head, rows)
    )


def kernels_section(results):
    checks = results.all("kernels", "check")
    if not checks:
        return "## Kernels\n\nNot compared."
    said = ", ".join(f"{r['case']}: {'right' if r['ok'] else 'WRONG'}" for r in checks)
    return f"## Kernels\n\nOn the GPU, {said}."


def updates_section(results):
    timings = results.good("updates", "timing")
    if not timings:
        return "## Updates\n\nNot measured."
    theirs = next((r["gb_per_s"] for r in timings if r["by"] == "PyTorch"), None)
    rows = [
        (
            f"{r['case']} ({r['by']})",
            f"{r['bytes_per_element']:.2f}",
            f"{r['us']:.0f}",
            f"{r['gb_per_s']:.0f}",
            percent(r["gb_per_s"], results.copy_peak()),
            f"{r['gb_per_s'] / theirs:.2f}" if theirs else "-",
        )
        for r in timings
    ]
    head = ("optimizer", "bytes an element", "us", "GB/s", "of copy ceiling", "GB/s over PyTorch's fused AdamW")
    return f"## Updates\n\nOf {timings[0]['elements']} elements.\n\n" + markdown_table(head, rows)


def copies_section(results):
    copies = next(iter(results.good("copies", "rates")), None)
    if not copies:
        return "## Copies for offloading\n\nNot measured."
    rows = [
        (name.removesuffix("_per_s"), f"{rate * 1e-9:.1f}")
        for name, rate in copies["rates"].items()
        if name.endswith("_per_s")
    ]
    return "## Copies for offloading\n\nBy `lockstep bench copies`.\n\n" + markdown_table(("rate", "GB/s"), rows)


def attention_times_section(results):
    rows = [
        (r["shape"], r["kernel"], r["by"], f"{r['us']:.1f}", f"{r['tflops']:.1f}")
        for r in results.good("attention_times")
    ]
    if not rows:
        return "## Attention as Lockstep runs it\n\nNot measured."
    return "## Attention as Lockstep runs it\n\n" + markdown_table(("shape", "kernel", "by", "us", "TFLOP/s"), rows)


def sanitize_section(results):
    runs = results.all("sanitize", "run")
    if not runs:
        return "## compute-sanitizer\n\nNot run."
    said = ", ".join(f"{r['case']} {'found nothing' if r['ok'] else 'FAILED'}" for r in runs)
    return f"## compute-sanitizer\n\nOn {runs[0]['kernels']} kernels whose blocks share memory: {said}."


def failures_section(results):
    failed = [r for r in results.records if not r["ok"]]
    if not failed:
        return "## Failures\n\nNone."
    rows = [
        (r["probe"], r["case"], r.get("error", "").replace("|", "\\|").replace("\n", " "))
        for r in failed
    ]
    return "## Failures\n\n" + markdown_table(("probe", "case", "reason"), rows)


SECTIONS = (
    title_section,
    meaning_section,
    ceilings_section,
    matmul_section,
    attention_section,
    launch_section,
    nccl_section,
    torch_section,
    pairs_section,
    profile_section,
    losses_section,
    kernels_section,
    attention_times_section,
    updates_section,
    copies_section,
    sanitize_section,
    failures_section,
)


def table_lines(results):
    """The few numbers to read first."""
    lines = (
        [f"{'copy ceiling':<44} {results.copy_peak():>10.0f} GB/s"] if results.copy_peak() else []
    )
    if results.matmul_peak():
        lines.append(f"{'bf16 matmul ceiling':<44} {results.matmul_peak():>10.0f} TFLOP/s")
    for r in results.good("attention", "timing"):
        lines.append(
            f"{r['case']:<44} {r['forward_tflops']:>4.0f}/{r['backward_tflops']:<5.0f} TFLOP/s"
        )
    for r in results.good("launch"):
        lines.append(f"{'300 kernels ' + r['case']:<44} {r['total_us']:>10.0f} us")
    for r in results.all("kernels", "check"):
        lines.append(f"{'kernels':<44} {'ok' if r['ok'] else 'FAILED':>10}")
    for r in results.all("losses"):
        lines.append(f"{'losses, ' + r['case']:<44} {'ok' if r['ok'] else 'FAILED':>10}")
    for r in results.all("nccl", "run"):
        lines.append(f"{'NCCL ' + r['case']:<44} {'ok' if r['ok'] else 'FAILED':>10}")
    for r in results.good("torch", "timing"):
        lines.append(f"{'PyTorch ' + r['case']:<44} {r['tokens_per_s']:>10.0f} tokens/s")
    for r in results.good("pairs", "alone"):
        lines.append(f"{'ours alone ' + r['case']:<44} {r['tokens_per_s']:>10.0f} tokens/s")
    for r in results.good("pairs", "timing"):
        lines.append(f"{'ours ' + r['case']:<44} {r['tokens_per_s']:>10.0f} tokens/s, {r['ratio']:.2f} x")
    for r in results.good("updates", "timing"):
        lines.append(f"{r['by'] + ', ' + r['case']:<44} {r['gb_per_s']:>10.0f} GB/s")
    count, bad = len(results.records), sum(not r["ok"] for r in results.records)
    return lines + [f"{count} records, {bad} failed"]
