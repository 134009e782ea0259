#!/usr/bin/env python3
"""lockstep tokenize against Hugging Face's `tokenizers`, on the same processors, in turns.

    pip install tokenizers==0.23.3; bench/tokenize.py LOCKSTEP TEXT...

Trains a vocabulary of 32,000 tokens on the texts, makes documents of about 2,000 characters of them, and prints the median of
five ratios. The time of lockstep is that of the whole program: it starts, reads tokenizer.json and JSON lines, encodes, and
writes train.tok. That of `tokenizers` is encode_batch alone, of texts that are in memory, with a thread for each processor.
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

PATTERN = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
           r"\s+(?!\S)|\s+")
BYTES = 24_000_000


def make_tokenizer(texts):
    tokenizer = Tokenizer(models.BPE(ignore_merges=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(PATTERN), "isolated"),
                                                       pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(texts, trainers.BpeTrainer(vocab_size=32000, show_progress=False,
                                                             initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    return tokenizer


def main():
    lockstep, paths = sys.argv[1], sys.argv[2:]
    text = "".join(open(path, errors="ignore").read() for path in paths)
    documents = [text[i:i + 2000] for i in range(0, len(text), 2000)]
    tokenizer = make_tokenizer(documents)
    while sum(map(len, documents)) < BYTES:
        documents += documents
    size = sum(len(d.encode()) for d in documents)
    with tempfile.TemporaryDirectory() as folder:
        tokenizer.save(f"{folder}/tokenizer.json")
        with open(f"{folder}/all.jsonl", "w") as out:
            for document in documents:
                out.write(json.dumps({"text": document}) + "\n")
        command = [lockstep, "tokenize", f"{folder}/all.jsonl", "-o", f"{folder}/out", "--tokenizer", f"{folder}/tokenizer.json",
                   "--hold-out", "0", "--json"]
        ratios = []
        for _ in range(5):
            start = time.perf_counter()
            encoded = tokenizer.encode_batch(documents, add_special_tokens=False)
            theirs = time.perf_counter() - start
            start = time.perf_counter()
            answer = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            ours = time.perf_counter() - start
            tokens = sum(len(e.ids) for e in encoded)
            assert tokens == answer["train"]["tokens"], (tokens, answer)
            ratios.append(theirs / ours)
            print(f"tokenizers {size / theirs / 1e6:6.1f} MB/s   lockstep {size / ours / 1e6:6.1f} MB/s   {theirs / ours:.2f} x")
    print(f"{size / 1e6:.0f} MB, {tokens:,} tokens, {len(os.sched_getaffinity(0))} processors: "
          f"{statistics.median(ratios):.2f} x, from {min(ratios):.2f} to {max(ratios):.2f}")


if __name__ == "__main__":
    main()
