-- RUN: tokenize a.jsonl -o out --hold-out 40%
-- SETUP: printf '{"ids": [1, 2, 3, 4, 5, 6], "mask": [0, 0, 1, 1, 1, 1]}\n{"ids": [9, 8, 7, 6]}\n' > a.jsonl
-- >>> exit 0
wrote    out/train.tok   6 tokens
wrote    out/valid.tok   4 tokens
         2 documents, 8 of the tokens are targets; ids are below 10
