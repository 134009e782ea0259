-- RUN: tokenize a.jsonl -o out --tokenizer . --special parse
-- SETUP: cp ${test%/golden/*}/tokenizers/mistral/token* .
-- SETUP: printf '%s\n' '{"text": "<s>a"}' > a.jsonl
-- >>> exit 1
lockstep: a.jsonl:1: begins with the token bos (1) twice: the text has it
    already, use --bos none
