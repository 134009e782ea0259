#!/usr/bin/env python3
"""Trains the tokenizers of this folder and records the ids that Hugging Face's `tokenizers` gives.

    pip install tokenizers==0.23.3; tests/tokenizers/record.py

Tests read what it wrote and need no Python. One line of NAME.jsonl: the text; "ids" with special
tokens read as letters; "parse", if it differs, with special tokens as tokens.
"""
import json
import os
import random

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

HERE = os.path.dirname(os.path.abspath(__file__))
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
          r"\s+(?!\S)|\s+")
QWEN2 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
         r"\s+(?!\S)|\s+")
TEXT = [
    "In the beginning God created the heaven and the earth. And the earth was without form, and void; and darkness",
    "was upon the face of the deep. And the Spirit of God moved upon the face of the waters. 1234567890 2026-11-27",
    "int main(void) {\n  for (int i = 0; i < 10; i++)\n    printf(\"%d\\n\", i);\n\n  return 0;\n}\n",
    "Der Fluß fließt über die Höhe. Ça été déjà vu à Noël. Ελληνικά και Кириллица, 日本語と中文, 한국어 단어 한국어.",
    "I'm, you're, we've, they'll, he'd, isn't, IT'S the    same   as\tbefore\n\n\nthe end of the text. 🙂🙃 👩‍👩‍👧",
] * 3


def added(content, special=True, **flags):
    return AddedToken(content, special=special, normalized=flags.pop("normalized", not special), **flags)


def trainer(size, **more):
    return trainers.BpeTrainer(vocab_size=size, show_progress=False, **more)


def byte_level(tokenizer, size):
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tokenizer.train_from_iterator(TEXT, trainer(size, initial_alphabet=alphabet))
    tokenizer.decoder = decoders.ByteLevel()


def gpt2():
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    byte_level(t, 380)
    t.add_special_tokens([added("<|endoftext|>")])
    t.add_tokens([added("earth", special=False, single_word=True), added("<pad>", special=False, lstrip=True, rstrip=True)])
    t.post_processor = processors.ByteLevel(trim_offsets=False)
    return t


def llama3():
    t = Tokenizer(models.BPE(ignore_merges=True))
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(LLAMA3), "isolated"),
                                               pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    byte_level(t, 380)
    # Words of the vocabulary that no merge makes, so that ignore_merges matters.
    data = json.loads(t.to_str())
    for word in ["Ġwaters", "Ġdeep", "xyz"]:
        data["model"]["vocab"].setdefault(word, len(data["model"]["vocab"]))
    t = Tokenizer.from_str(json.dumps(data))
    t.add_special_tokens([added(s) for s in ["<|begin_of_text|>", "<|end_of_text|>", "<|start_header_id|>",
                                             "<|end_header_id|>", "<|eot_id|>"]])
    bos = t.token_to_id("<|begin_of_text|>")
    t.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), processors.TemplateProcessing(
        single="<|begin_of_text|> $A", special_tokens=[("<|begin_of_text|>", bos)])])
    return t


def qwen2():
    t = Tokenizer(models.BPE())
    t.normalizer = normalizers.NFC()
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(QWEN2), "isolated"),
                                               pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    byte_level(t, 380)
    t.add_special_tokens([added(s) for s in ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]])
    t.add_tokens([added("é!", special=False, normalized=True), added("<think>", special=False, normalized=False)])
    return t


def fallback(legacy):
    t = Tokenizer(models.BPE(byte_fallback=True, fuse_unk=True, unk_token="<unk>"))
    steps = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    t.decoder = decoders.Sequence(steps)
    t.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="first", split=True)
    specials = ["<unk>", "<s>", "</s>"] + [f"<0x{b:02X}>" for b in range(256)]
    t.train_from_iterator(TEXT, trainer(480, special_tokens=specials, limit_alphabet=90))
    data = json.loads(t.to_str())
    data["added_tokens"] = [a for a in data["added_tokens"] if not a["content"].startswith("<0x")]
    t = Tokenizer.from_str(json.dumps(data))
    if legacy:  # Llama 2
        t.pre_tokenizer = None
        t.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    else:  # Mistral
        t.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="first", split=False)
        t.add_special_tokens([added("[INST]"), added("[/INST]")])
    t.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    return t


def hostile(tokenizer):
    pieces = ["<|endoftext|>", "<|eot_id|>", "<|im_start|>", "<s>", "</s>", "[INST]", "[/INST]", "<pad>", "earth", "<0x41>",
              "<unk>", "<think>", "e\u0301!", "\u00e9!", "the", "Spirit", "a", "Z", "ſ", "ß", "é", "e\u0301", "\u0300", "ñ",
              "n\u0303", "Å", "A\u030a", "\u212b", "が", "か\u3099", "한", "\u1112\u1161\u11ab", "日本語", "中", "٣", "²", "½", "Ⅷ",
              "1", "12", "1234", "123456789", "'s", "'S", "'ll", "'LL", "'re", "’s", "'", "\"", ".", "...", "!?", "#", "$", "_",
              " ", "  ", "   ", "\t", "\n", "\r\n", "\r", "\n\n", "\u00a0", "\u2003", "\u3000", "\u200b", "\u2028", "\u1680",
              "\x85", "\x0b", "\x1c", "\x00", "\x7f", "🙂", "👩‍👩‍👧", "\U0001f1e9\U0001f1ea", "\ufeff", "\ufffd", "\U0010ffff",
              "\ue000", "ﷺ", "ﬁ", "ا", "ב", "ก", "กำ", "अ", "क्ष", "▁", "▁▁", "Ġ", "Ċ", "Ã", "ǅ", "\u0345", "\u0f71\u0f72",
              "waters", " waters", " deep", "xyz", "void", "for (int i = 0;", "return"]
    rng = random.Random(7)
    texts = ["", " ", "  ", "\n", " \n ", "a" * 400, "é" * 90, " " * 300, "\n" * 50, "▁" * 40, "🙂" * 30, "the the the " * 20,
             "0" * 100, "x\u0301" * 40, "<" * 60, "<|" * 40, "<|endoftext|" * 4] + pieces
    for _ in range(330):
        texts.append("".join(rng.choice(pieces) for _ in range(rng.randint(2, 14))))
    for _ in range(60):  # characters assigned by Unicode 14
        points = [rng.choice([rng.randint(0x20, 0x7f), rng.randint(0xa0, 0x377), rng.randint(0x400, 0x52f),
                              rng.randint(0x4e00, 0x9ff0), rng.randint(0xac00, 0xd7a3), rng.randint(0x1f600, 0x1f64f)])
                  for _ in range(rng.randint(1, 24))]
        texts.append("".join(map(chr, points)))
    return [t for t in texts if "\x00" not in t]  # JSON readers refuse NULs


CONFIGS = {
    "gpt2": {"bos_token": "<|endoftext|>", "eos_token": "<|endoftext|>"},
    "llama3": {"bos_token": "<|begin_of_text|>", "eos_token": {"content": "<|eot_id|>"}},
    "qwen2": {"eos_token": "<|im_end|>"},
    "llama2": {"bos_token": "<s>", "eos_token": "</s>"},
    "mistral": {"bos_token": "<s>", "eos_token": "</s>"},
}


def main():
    kinds = {"gpt2": gpt2(), "llama3": llama3(), "qwen2": qwen2(), "llama2": fallback(True), "mistral": fallback(False)}
    for name, t in kinds.items():
        os.makedirs(f"{HERE}/{name}", exist_ok=True)
        with open(f"{HERE}/{name}/tokenizer.json", "w") as out:
            out.write(t.to_str(pretty=False) + "\n")
        with open(f"{HERE}/{name}/tokenizer_config.json", "w") as out:
            out.write(json.dumps(CONFIGS[name]) + "\n")
        t = Tokenizer.from_file(f"{HERE}/{name}/tokenizer.json")
        with open(f"{HERE}/{name}.jsonl", "w") as out:
            for text in hostile(t):
                t.encode_special_tokens = True
                ids = t.encode(text, add_special_tokens=False).ids
                t.encode_special_tokens = False
                parse = t.encode(text, add_special_tokens=False).ids
                line = {"text": text, "ids": ids} | ({"parse": parse} if parse != ids else {})
                out.write(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
