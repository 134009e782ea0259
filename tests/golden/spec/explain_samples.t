-- RUN: explain job.lua --samples 1..2
-- SETUP: printf '{"ids": [1, 2, 3, 4, 5]}\n{"ids": [6, 7, 8, 9, 10, 11]}\n{"ids": [12, 13, 14]}\n{"ids": [15, 16, 17, 18]}\n' > a.jsonl
-- SETUP: "$lockstep" tokenize a.jsonl -o out --hold-out 0 -q
return job {
  model = { "gpt2", layers = 4, width = 32, heads = 4, vocab = 64, positions = 8 },
  data = { train = "out/train.tok", documents = "apart", fill = "pack" },
  train = { batch = "1 sequences", context = 8, steps = 2 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 0
step 1
  sample 0 of out/train.tok: token 5, document 1
    6 7 8 9 10 11
step 2
  sample 1 of out/train.tok: token 0, document 0
    1 2 3 4 5
