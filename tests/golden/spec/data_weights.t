-- RUN: explain job.lua --samples 1..2 --json
-- SETUP: printf '{"ids": [1, 2, 3, 4]}\n{"ids": [5, 6, 7, 8, 9]}\n' > a.jsonl
-- SETUP: printf '{"ids": [11, 12, 13]}\n{"ids": [15, 16, 17]}\n' > b.jsonl
-- SETUP: "$lockstep" tokenize a.jsonl -o a --hold-out 0 -q && "$lockstep" tokenize b.jsonl -o b --hold-out 0 -q
return job {
  model = { "gpt2", layers = 4, width = 32, heads = 4, vocab = 64, positions = 8 },
  data = { train = { { "a/train.tok", weight = 2 }, "b/*.tok" }, documents = "apart", fill = "pack", shuffle = false },
  train = { batch = "3 sequences", context = 8, steps = 2 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 0
{"version": 1, "steps": [{"step": 1, "samples": [{"source": 0, "sample": 0, "document": 1, "token": 4, "text": "5 6 7 8 9"}, {"source": 1, "sample": 0, "document": 0, "token": 0, "text": "11 12 13"}, {"source": 0, "sample": 1, "document": 0, "token": 0, "text": "1 2 3 4"}]}, {"step": 2, "samples": [{"source": 0, "sample": 0, "document": 1, "token": 4, "text": "5 6 7 8 9"}, {"source": 1, "sample": 0, "document": 0, "token": 0, "text": "11 12 13"}, {"source": 0, "sample": 1, "document": 0, "token": 0, "text": "1 2 3 4"}]}]}
