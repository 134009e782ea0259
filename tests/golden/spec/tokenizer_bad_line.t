-- RUN: tokenize a.jsonl -o out --tokenizer tokenizer.json --chat ./page.lua
-- SETUP: cp ${test%/golden/*}/tokenizers/qwen2/token* .
-- SETUP: printf '%s\n' '{"text": "a"}' '' '{"messages": [{"role": "tool", "content": "x"}]}' > a.jsonl
-- SETUP: printf 'return function(messages)\n  error("no role " .. messages[1].role)\nend\n' > page.lua
-- >>> exit 1
lockstep: a.jsonl:3: page.lua:2: no role tool
