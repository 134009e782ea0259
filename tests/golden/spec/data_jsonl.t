-- RUN: check job.lua
-- SETUP: yes '{"text": "hello"}' | head -50 > a.jsonl
return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = { train = "a.jsonl", format = "u8" },
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:3:20: error[data]: a.jsonl: is JSON, not raw tokens: lockstep tokenize
    FILE.jsonl -o FOLDER --tokenizer PATH makes tokens of its lines
    3 |   data = { train = "a.jsonl", format = "u8" },
      |                    ^~~~~~~~~
