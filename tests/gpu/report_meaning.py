"""What the numbers mean for the CUDA runtime: sentences computed from them."""

LAYERS = {"gpt2": ("qkv", "proj", "fc1", "fc2"), "llama3": ("qkv", "o", "gate_up", "down")}
PASSES = ("forward", "input_gradient", "weight_gradient")


def launch_sentence(results):
    runs = {r["case"]: r for r in results.good("launch")}
    one_by_one, graph = runs.get("launched one by one"), runs.get("replayed as a graph")
    if not one_by_one or not graph:
        return "Launch costs were not measured."
    saved_us = one_by_one["total_us"] - graph["total_us"]
    kernels = one_by_one["kernels"]
    sentence = (
        f"A step of {kernels} small kernels takes {one_by_one['total_us'] / 1e3:.2f} ms launched "
        "one by "
        f"one and {graph['total_us'] / 1e3:.2f} ms as one graph"
    )
    if saved_us <= 0:
        return sentence + ": capturing a step saves nothing here."
    small = [r["step_ms"] for r in results.good("torch", "timing") if r["workload"] == "gpt2_b1"]
    share = (
        f", {100 * saved_us / 1e3 / min(small):.0f} % of PyTorch's fastest batch-1 step"
        if small
        else ""
    )
    return (
        sentence
        + f": capture saves up to {saved_us / 1e3:.2f} ms a step{share}, and matters where the "
        f"device needs less than {one_by_one['submit_us'] / 1e3:.2f} ms for those kernels."
    )


def matmul_times_us(results, model):
    """(layer, pass) -> time of the case listed first, which is the one a training step uses."""
    times = {}
    for r in results.good("matmul", "layer"):
        words = r["case"].split()
        if words[0] == model and "bf16" in words[3]:
            times.setdefault((words[1], words[2]), r["time_us"])
    return times


def step_matmul_ms(results, model, layers, head_chunks):
    """Time of all matmuls of one training step at the measured rates; None when one is missing."""
    times = matmul_times_us(results, model)
    try:
        body = sum(times[layer, each] for layer in LAYERS[model] for each in PASSES)
        head = sum(times["head", each] for each in PASSES) if head_chunks else 0.0
    except KeyError:
        return None
    return (layers * body + head_chunks * head) * 1e-3


def algorithm_sentence(results):
    layers = results.good("matmul", "layer")
    if not layers:
        return "Matmuls were not measured."
    first = sum(r["first_algorithm_time_us"] for r in layers)
    best = sum(r["time_us"] for r in layers)
    return (
        "Timing 16 cuBLASLt algorithms instead of taking the first saves "
        f"{100 * (1 - best / first):.1f} % "
        "of the time of all layers, which is what a tuned algorithm in the plan is worth."
    )


def epilogue_sentences(results):
    """A fused epilogue against the plain matmul plus one pass over its output at copy speed."""
    times = {r["case"]: r for r in results.good("matmul", "layer")}
    copy = results.copy_peak()
    sentences = []
    for fused, plain, width, what in (
        (
            "gpt2 fc1 forward bf16 gelu_aux_bias",
            "gpt2 fc1 forward bf16 bias",
            "out",
            "GELU forward",
        ),
        (
            "gpt2 fc2 input_gradient bf16 dgelu_bgrad",
            "gpt2 fc2 input_gradient bf16 plain",
            "in",
            "GELU backward with bias gradient",
        ),
    ):
        if fused not in times or plain not in times or not copy:
            continue
        extra_us = times[fused]["time_us"] - times[plain]["time_us"]
        # Forward: read, write. Backward: read two, write one. 2 bytes each.
        passes = 2 if what == "GELU forward" else 3
        own_us = passes * 2 * times[fused]["tokens"] * times[fused][width] / (copy * 1e3)
        verdict = "fuse it" if extra_us < own_us else "keep it apart"
        sentences.append(
            f"{what} fused costs {extra_us:.0f} us on fc1's array, a kernel of its own at copy "
            "speed "
            f"{own_us:.0f} us: {verdict}."
        )
    for r in results.good("matmul", "gelu"):
        if "bf16" in r["case"]:
            same = (
                "the same as ours and PyTorch's approximate='tanh'"
                if r["gelu"] == "tanh"
                else ("not the tanh form: fusing changes the model")
            )
            sentences.append(f"The fused GELU is the {r['gelu']} form, {same}.")
    return sentences


def attention_sentences(results):
    sentences = []
    timings = results.good("attention", "timing")
    peak = results.matmul_peak()
    for size in ("D64", "D128"):
        rates = [
            (r["forward_tflops"], r["backward_tflops"]) for r in timings if r["case"].endswith(size)
        ]
        if rates and peak:
            forward, backward = (sum(column) / len(column) for column in zip(*rates))
            sentences.append(
                f"Attention at {size} reaches {100 * forward / peak:.0f} % of the matmul ceiling "
                "forward "
                f"and {100 * backward / peak:.0f} % backward on average; a kernel of our own "
                "could win at "
                f"most a factor {peak / forward:.1f} and {peak / backward:.1f}."
            )
    ahead = results.all("attention", "ahead")
    if ahead:
        good = sum(r["ok"] for r in ahead)
        sentences.append(
            f"Plans made without a device loaded and computed rightly for {good} of {len(ahead)} "
            "shapes: "
            + (
                "a plan file may carry compiled attention."
                if good == len(ahead)
                else "attention must be planned on the device."
            )
        )
    captured = results.find("attention", "captured in a CUDA graph")
    if captured:
        sentences.append(
            "Attention " + ("can" if captured["ok"] else "cannot") + " be captured in a CUDA graph."
        )
    repeats = results.find("attention", "backward repeats bit for bit")
    if repeats and repeats["ok"]:
        answers = {key: value for key, value in repeats.items() if key.endswith("_repeats")}
        good = [
            key.removesuffix("_repeats").replace("_", " ")
            for key, value in answers.items()
            if value
        ]
        sentences.append(
            f"Of {len(answers)} backward engines, "
            + (", ".join(good) if good else "none")
            + " repeated bit for bit: "
            + (
                "a deterministic mode can use it."
                if good
                else "a deterministic mode needs our own kernel."
            )
        )
    return sentences


def nccl_sentence(results):
    runs = [r for r in results.all("nccl", "run") if "one host id" not in r["case"]]
    if not runs:
        return "NCCL was not run."
    if all(r["ok"] for r in runs):
        return (
            f"NCCL ran {' and '.join(str(r['ranks']) for r in runs)} ranks on one GPU with a "
            "host id each: "
            "the runtime's collectives can be tested for correctness on one GPU."
        )
    return "NCCL did not run several ranks on one GPU: collectives need our own transport in tests."


def opponent_sentences(results):
    sentences = []
    best = {}
    for r in results.good("torch", "timing"):
        if r["workload"] not in best or r["tokens_per_s"] > best[r["workload"]]["tokens_per_s"]:
            best[r["workload"]] = r
    for workload, r in best.items():
        sentence = (
            f"To beat in {workload}: {r['tokens_per_s']:.0f} tokens/s, {r['step_ms']:.2f} ms a "
            "step "
            f"(torch.compile {r['mode']}, {r['attention']} attention)"
        )
        matmul_ms = {
            "gpt2_64k": step_matmul_ms(results, "gpt2", 12, 8),
            "llama8": step_matmul_ms(results, "llama3", 8, 0),
        }.get(workload)
        if matmul_ms:
            sentence += (
                f"; the matmuls alone take {matmul_ms:.2f} ms of it at the rates measured here, "
                "which "
                f"bounds any gain at a factor {r['step_ms'] / matmul_ms:.2f}"
            )
        sentences.append(sentence + ".")
    return sentences


# Of PyTorch's time over ours: what must be, and what is aimed at.
GOALS = {"gpt2_64k": (1.24, 1.3), "llama8": (1.1, 1.15)}
SMALL_BATCH_GOAL = (1.2, 1.5)
# The same of the milliseconds of a step on an H100.
STEP_GOALS_MS = {"gpt2_64k": (102, 96), "llama8": (174, 170), "gpt2_b4": (7.8, 7.3)}


def goal_sentences(results):
    sentences = []
    for r in results.good("pairs", "timing"):
        least, aim = GOALS.get(r["workload"], SMALL_BATCH_GOAL)
        verdict = "missed" if r["ratio"] < least else "met" if r["ratio"] < aim else "met, and the aim"
        sentences.append(
            f"In {r['workload']} ours is {r['ratio']:.2f} x as fast as PyTorch: the goal of {least:.2f} x "
            f"(aim {aim:.2f} x) is {verdict}."
        )
    steps = {r["workload"]: r["step_ms"] for kind in ("alone", "timing") for r in results.good("pairs", kind)}
    for workload, step_ms in steps.items():
        if workload not in STEP_GOALS_MS or "H100" not in results.device_name():
            continue
        most, aim = STEP_GOALS_MS[workload]
        verdict = "missed" if step_ms > most else "met" if step_ms > aim else "met, and the aim"
        sentences.append(
            f"A step of {workload} takes {step_ms:.2f} ms: the goal of at most {most} ms (aim {aim} ms) is {verdict}."
        )
    return sentences


def meaning_section(results):
    sentences = [
        launch_sentence(results),
        algorithm_sentence(results),
        *epilogue_sentences(results),
        *attention_sentences(results),
        nccl_sentence(results),
        *opponent_sentences(results),
        *goal_sentences(results),
    ]
    return "## What this means for the CUDA runtime\n\n" + " ".join(sentences)
