-- RUN: tokenize a.jsonl -o out --chat llama3
-- SETUP: echo > a.jsonl
-- >>> exit 1
lockstep: --chat is about a tokenizer: add --tokenizer PATH
