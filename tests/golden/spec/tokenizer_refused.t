-- RUN: tokenize a.jsonl -o out --tokenizer tokenizer.json
-- SETUP: sed 's/"NFC"/"NFKC"/' ${test%/golden/*}/tokenizers/qwen2/tokenizer.json > tokenizer.json; echo > a.jsonl
-- >>> exit 1
lockstep: tokenizer.json: normalizer.type is "NFKC": built are NFC, Prepend,
    Replace and a Sequence of them
