#!/usr/bin/env python3
"""tests/gpu/report on made-up results: numbers arrive, sentences follow from them."""

import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
from pathlib import Path

GPU = Path(__file__).resolve().parent.parent
FIXTURE = GPU / "data" / "fixture_results"


class Report(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.out = self.folder / "out"
        shutil.copytree(FIXTURE, self.out)
        (self.out / "run.log").write_text(
            'date: 2026-01-02T03:04:05Z\nPRETTY_NAME="Some System 1"\n'
        )

    def report(self, *arguments):
        command = [sys.executable, str(GPU / "report"), *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True)

    def page(self):
        path = self.folder / "page.md"
        result = self.report(self.out, path)
        self.assertEqual(result.returncode, 0, result.stderr)
        return path.read_text()

    def edit(self, name, change):
        path = self.out / name
        records = [json.loads(line) for line in path.read_text().splitlines()]
        for record in records:
            change(record)
        path.write_text("".join(json.dumps(record) + "\n" for record in records))

    def test_numbers_stand_beside_their_ceilings(self):
        page = self.page()
        self.assertIn("| copy, cudaMemcpy | 4000 GB/s | 83 % |", page)
        self.assertIn("| bf16 matmul 8192^3, random data | 800 TFLOP/s | 81 % |", page)
        self.assertIn("Of 2 suggestions for small sizes 1 round the product", page)
        self.assertIn("- small forward bf16 bias 33 x 515 x 130, suggestion 0 (algorithm 23", page)
        self.assertIn(
            "| gpt2 qkv forward bf16 bias | 65536 | 500 | 600 | 75 % | 1.25 | 1.7e-03 |", page
        )
        self.assertIn(
            "| causal B64 H12/12 T1024 D64 | 320 | 40 % | 160 | 20 % | 2, 6 | 256, 256 |", page
        )
        self.assertIn("| date, commit | 2026-01-02T03:04:05Z, ? |", page)
        self.assertIn("Some System 1", page)

    def test_made_up_numbers_say_so_and_stay_out_of_docs(self):
        self.assertIn("# FIXTURE, NOT MEASURED: GPU measurements", self.page())
        refused = self.report(self.out, self.folder / "docs" / "measurements" / "gpu.md")
        self.assertEqual(refused.returncode, 1)
        self.assertFalse((self.folder / "docs").exists())

    def test_failures_are_listed_with_their_reason(self):
        page = self.page()
        self.assertIn("the heuristics know no algorithm for this matmul |", page)
        self.assertIn("17 of 18 layers by samples", page)

    def test_sentences_follow_from_the_numbers(self):
        page = self.page()
        self.assertIn("1.00 ms launched one by one and 0.40 ms as one graph", page)
        self.assertIn("saves up to 0.60 ms a step, 12 % of PyTorch's fastest batch-1 step", page)
        self.assertIn("instead of taking the first saves 20.0 %", page)
        # 65536 x 3072 x 2 bytes, read and written, at 4000 GB/s: 201 us against 100 us more.
        self.assertIn("GELU forward fused costs 100 us on fc1's array", page)
        self.assertIn("a kernel of its own at copy speed 201 us: fuse it", page)
        self.assertIn(
            "fused costs 400 us on fc1's array, a kernel of its own at copy speed 302 us: "
            "keep it apart",
            page,
        )
        self.assertIn("a plan file may carry compiled attention", page)
        self.assertIn("Of 2 backward engines, candidate 1 engine 7 repeated bit for bit", page)
        self.assertIn("NCCL ran 2 and 4 ranks on one GPU", page)
        # 12 layers x 12 matmuls x 500 us + 8 chunks x 3 x 1000 us = 96 ms of 120.
        self.assertIn("the matmuls alone take 96.00 ms of it", page)
        self.assertIn("bounds any gain at a factor 1.25", page)

    def test_other_numbers_give_other_sentences(self):
        def change(record):
            if record["probe"] == "launch":
                record["total_us"] = 1000.0
            if record.get("kind") == "ahead":
                record.update(ok=False, error="refused")
            if record.get("case") == "backward repeats bit for bit":
                record["candidate_1_engine_7_repeats"] = False
            if record.get("case") == "4 ranks":
                record["ok"] = False

        for name in ("launch.jsonl", "attention.jsonl", "nccl.jsonl"):
            self.edit(name, change)
        page = self.page()
        self.assertIn("capturing a step saves nothing here", page)
        self.assertIn("attention must be planned on the device", page)
        self.assertIn("a deterministic mode needs our own kernel", page)
        self.assertIn("collectives need our own transport", page)

    def test_a_step_that_did_not_run_is_named(self):
        for name in ("attention", "nccl", "torch", "launch", "matmul", "pairs", "profile", "sanitize", "train", "ranks", "kernels",
                     "times", "updates", "copies"):
            (self.out / f"{name}.jsonl").unlink()
        page = self.page()
        for words in (
            "## PyTorch\n\nNot measured.",
            "## NCCL, several ranks on one GPU\n\nNot run.",
            "Launch costs were not measured.",
            "## Attention (cuDNN)\n\nNot measured.",
            "## Our steps beside PyTorch's\n\nNot measured.",
            "## Where a step's time goes\n\nNot measured.",
            "## compute-sanitizer\n\nNot run.",
            "## Losses\n\nNot run.",
            "## Attention as Lockstep runs it\n\nNot measured.",
            "## Kernels\n\nNot compared.",
            "## Updates\n\nNot measured.",
            "## Copies for offloading\n\nNot measured.",
        ):
            self.assertIn(words, page)

    def test_our_steps_stand_beside_pytorchs(self):
        page = self.page()
        self.assertIn(
            "| gpt2_64k | default, cudnn | 100.00 | 120.00 | 1.20 | 1.10 to 1.30 | 7 | 655360 | 50 % | 65 % |", page
        )
        self.assertIn("In gpt2_64k ours is 1.20 x as fast as PyTorch: the goal of 1.24 x (aim 1.30 x) is missed.", page)
        self.assertIn("In gpt2_b1 ours is 1.10 x as fast as PyTorch: the goal of 1.20 x (aim 1.50 x) is missed.", page)

    def test_a_case_without_pairs_has_our_step_alone(self):
        page = self.page()
        self.assertIn("Ours alone, one turn:\n\n| workload | ms a step | tokens/s | MFU |\n|---|---|---|---|\n| gpt2_b4 |", page)
        self.assertNotIn("A step of gpt2_b4", page)  # the goal is of another device
        self.edit("device.jsonl", lambda r: r.update(name="NVIDIA H100 80GB HBM3"))
        page = self.page()
        self.assertIn("A step of gpt2_b4 takes 8.00 ms: the goal of at most 7.8 ms (aim 7.3 ms) is missed.", page)
        self.assertIn("A step of gpt2_64k takes 100.00 ms: the goal of at most 102 ms (aim 96 ms) is met.", page)

    def test_updates_and_copies(self):
        page = self.page()
        self.assertIn("| AdamW, split (ours) | 28.00 | 400 | 2400 | 60 % | 0.80 |", page)
        self.assertIn("| AdamW, fp32 (PyTorch) | 28.00 | 320 | 3000 | 75 % | 1.00 |", page)
        self.assertIn("| to_device | 55.0 |", page)
        self.assertIn("against the plain ones: right.", page)
        self.edit("kernels.jsonl", lambda r: r.update(ok=False, error="it ended with 1: norm.c:3 failed"))
        page = self.page()
        self.assertIn("against the plain ones: WRONG.", page)
        self.assertIn("it ended with 1: norm.c:3 failed |", page)

    def test_a_step_stands_beside_its_floor(self):
        page = self.page()
        self.assertIn("| norm_backward | 50 | 0.200 | 0.150 | 0.100 | 2.00 |", page)
        self.assertIn("| linear_bias + gelu | 12 | 0.150 | 0.120 | 0.100 | 1.50 |", page)
        self.assertIn("| all | 62 | 0.350 | 0.270 | 0.200 | 1.75 |", page)
        self.assertIn("| sm90_gemm<a/b> | 24 | 0.123 |", page)

    def test_losses_of_jobs_and_times_of_their_attention(self):
        page = self.page()
        self.assertIn("| one | 20 | 2.0e-07 | 3.0e-05 | ok |", page)
        self.assertIn("| one again, graphs | 20 | 0.0e+00 | 0.0e+00 | ok |", page)
        self.assertIn("| dp2 | 20 | 4.0e-07 | 5.0e-05 | ok |", page)
        self.assertIn("| a rank is lost | - | - | - | ok, ended after 1.2 s |", page)
        self.assertIn("| gpt2 | attention | 1 by cuDNN 9.19.0 | 161.0 | 320.0 |", page)
        (self.out / "ranks.jsonl").write_text(
            '{"probe": "losses", "case": "dp2", "kind": "loss", "ok": false, "error": "a run ended with 124"}\n'
        )
        page = self.page()
        self.assertIn("| dp2 | - | - | - | FAILED |", page)
        self.assertIn("| losses | dp2 | a run ended with 124 |", page)
        self.assertIn("losses, dp2", self.report("--table", self.out).stdout)

    def test_losses_are_compared(self):
        for name, losses in (("gpu", [5.0, 4.0]), ("cpu", [5.0, 4.00001]), ("short", [5.0])):
            rows = [{"format": 1}] + [{"step": i + 1, "loss": loss} for i, loss in enumerate(losses)]
            (self.folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
        for words, ended in (
            (("gpu", "cpu"), 0), (("gpu", "gpu", "--same"), 0), (("gpu", "cpu", "--same"), 1), (("gpu", "short"), 1)
        ):
            paths = [str(self.folder / word) if word[0] != "-" else word for word in words]
            command = [sys.executable, str(GPU / "device" / "compare_losses.py"), "job", *paths]
            result = subprocess.run(command, capture_output=True, text=True)
            self.assertEqual(result.returncode, ended, result.stderr)
            record = json.loads(result.stdout)
            self.assertEqual(record["ok"], ended == 0)
            (self.out / "train.jsonl").write_text(result.stdout)
            self.assertIn("| job |", self.page())

    def test_what_is_no_record_is_left_out(self):
        with open(self.out / "kernels.jsonl", "a", encoding="utf-8") as file:
            file.write('{"shape": "gpt2"}\n')
        result = self.report("--table", self.out)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("kernels.jsonl: a line that is no record", result.stderr)

    def test_what_the_sanitizer_found(self):
        self.assertIn(
            "On 10 kernels whose blocks share memory: memcheck found nothing, racecheck found nothing.", self.page()
        )
        self.edit("sanitize.jsonl", lambda r: r.update(ok=r["case"] != "racecheck", error="it ended with 9"))
        page = self.page()
        self.assertIn("memcheck found nothing, racecheck FAILED.", page)
        self.assertIn("| sanitize | racecheck | it ended with 9 |", page)

    def test_an_archive_is_read_as_what_it_holds(self):
        loose = self.page()
        (self.out / "steps.tsv").write_text("launch\t3\tok\nnccl\t0\tno GPU\n")
        packed = self.folder / "packed"
        packed.mkdir()
        with tarfile.open(packed / "results.tar.gz", "w:gz") as archive:
            archive.add(self.out, ".")
        self.out = packed
        self.assertEqual(self.page(), loose)
        whole = json.loads(self.report("--json", packed).stdout)
        self.assertEqual(whole["facts"]["system"], "Some System 1")
        self.assertEqual(whole["steps"]["nccl"], {"seconds": 0, "result": "no GPU"})
        records = [json.loads(line) for path in FIXTURE.glob("*.jsonl") for line in path.read_text().splitlines()]
        self.assertEqual(len(whole["records"]), len(records))
        self.assertIn(records[0], whole["records"])

    def test_without_a_device_there_is_no_page(self):
        (self.out / "device.jsonl").unlink()
        result = self.report(self.out, self.folder / "page.md")
        self.assertEqual(result.returncode, 1)
        self.assertIn("no device record", result.stderr)
        self.assertFalse((self.folder / "page.md").exists())

    def test_a_line_cut_short_is_left_out(self):
        with open(self.out / "nccl.jsonl", "a", encoding="utf-8") as file:
            file.write('{"probe": "nccl", "case": "cut')
        result = self.report("--table", self.out)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("nccl.jsonl: a line that is no JSON", result.stderr)
        self.assertIn("NCCL 4 ranks", result.stdout)
        self.assertIn("1 failed", result.stdout)


if __name__ == "__main__":
    unittest.main()
