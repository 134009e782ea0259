-- RUN: tokenize a.jsonl --tokenizer . --chat mistral --print --eos none --special refuse
-- SETUP: cp ${test%/golden/*}/tokenizers/mistral/token* .
-- SETUP: printf '%s\n' '{"text": "In the"}' '{"prompt": "A", "completion": " b"}' '{"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "the"}]}' > a.jsonl
-- >>> exit 0
{"ids": [1, 370, 303, 351]}
{"ids": [1, 336, 282, 336, 292], "mask": [0, 0, 0, 1, 1]}
{"ids": [1, 480, 336, 298, 299, 336, 481, 350, 2], "mask": [0, 0, 0, 0, 0, 0, 0, 1, 1]}
