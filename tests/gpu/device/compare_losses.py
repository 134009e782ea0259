"""Compares the losses of two runs of one plan: compare_losses.py NAME GPU.jsonl CPU.jsonl [--same]

In fp32 the two differ in the order of their sums only: 1e-5 relative in step 1, and 1e-3 in all
steps, for what differs is fed back. With --same both ran on the GPU, and every digit that was
written is the same. Prints one line of JSON; exit status 1 when they differ more.
"""
import json
import sys

FIRST, ALL = 1e-5, 1e-3


def losses(path):
    with open(path, encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    return {row["step"]: row["loss"] for row in rows if "loss" in row and "step" in row}


def main():
    gpu, cpu = losses(sys.argv[2]), losses(sys.argv[3])
    steps = sorted(set(gpu) & set(cpu))
    if not steps or set(gpu) != set(cpu):
        error = f"the two runs have other steps: {len(gpu)} and {len(cpu)}"
        print(json.dumps({"probe": "losses", "case": sys.argv[1], "kind": "loss", "ok": False, "error": error}))
        return 1
    far = [abs(gpu[step] / cpu[step] - 1) for step in steps]
    good = max(far) == 0 if "--same" in sys.argv[4:] else far[0] <= FIRST and max(far) <= ALL
    record = {"probe": "losses", "case": sys.argv[1], "kind": "loss", "steps": len(steps),
              "first_step_relative": far[0], "worst_relative": max(far), "gpu_loss": gpu[steps[-1]],
              "other_loss": cpu[steps[-1]], "ok": good}
    if not good:
        record["error"] = f"losses differ by up to {max(far):.3g}, in the first step by {far[0]:.3g}"
    print(json.dumps(record))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
