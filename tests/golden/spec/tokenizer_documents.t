-- RUN: tokenize a.jsonl -o out --tokenizer tokenizer.json --chat llama3 --hold-out 20%
-- SETUP: cp ${test%/golden/*}/tokenizers/llama3/token* .
-- SETUP: printf '%s\n' '{"text": "In <|eot_id|> the"}' '{"prompt": "A", "completion": " b"}' '{"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": " the "}]}' > a.jsonl
-- >>> exit 0
wrote    out/train.tok   19 tokens
wrote    out/valid.tok   24 tokens
         3 documents, 19 of the tokens are targets; ids are below 388
counted  1 text of special tokens taken as letters (--special)
