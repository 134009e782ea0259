"""Where a training step's time on the GPU goes, by kernel: ours from the trace of a step, PyTorch's from its
profiler. Both as rows of name, count and microseconds; ours also with what the plan counts, FLOPs and bytes, and the floor of each record by
these."""

import json

BYTES_PER_US, FLOPS_PER_US = 3.0e6, 8.0e8  # 3.0 TB/s and 800 TFLOP/s: what an H100 was seen to reach


def is_second(event):
    """Of two fused records the first has the time of both."""
    return event["args"].get("fused") and event["dur"] == 0


def name_of(event):
    return event["args"].get("kernel", event["cat"])


def rows_of(events, step):
    """Rows of one step of rank 0, longest first. A pair that is fused is one row, with the work of both."""
    records = [e for e in events if e["ph"] == "X" and e["pid"] == 0 and e["args"]["step"] == step]
    records.sort(key=lambda e: (e["tid"], e["ts"]))
    parts = []
    for event in records:
        arguments = event["args"]
        if is_second(event) and parts:
            last = parts[-1]
            last["name"] += " + " + name_of(event)
        else:
            last = dict(name=name_of(event), us=event["dur"], predicted_us=0.0, flops=0, bytes=0)
            parts.append(last)
        last["predicted_us"] += arguments.get("predicted_us", 0.0)
        last["flops"] += arguments.get("flops", 0)
        last["bytes"] += arguments.get("bytes", 0)
    rows = {}
    for part in parts:
        part["floor_us"] = max(part["bytes"] / BYTES_PER_US, part["flops"] / FLOPS_PER_US)
        row = rows.setdefault(part["name"], dict(name=part["name"], count=0))
        row["count"] += 1
        for key in ("us", "predicted_us", "floor_us", "flops", "bytes"):
            row[key] = row.get(key, 0) + part[key]
    return sorted(rows.values(), key=lambda row: -row["us"])


def read_trace(path, step):
    with open(path, encoding="utf-8") as file:
        rows = rows_of(json.load(file)["traceEvents"], step)
    if not rows:
        raise RuntimeError(f"the trace has no record of step {step}")
    return rows


def kernels_of(averages):
    """Rows of what torch.profiler has summed up by kernel."""
    rows = []
    for event in averages:
        us = getattr(event, "self_device_time_total", None)
        if us is None:  # releases before 2.4
            us = getattr(event, "self_cuda_time_total", 0)
        if us > 0:
            rows.append(dict(name=event.key[:120], count=event.count, us=float(us)))
    return sorted(rows, key=lambda row: -row["us"])
