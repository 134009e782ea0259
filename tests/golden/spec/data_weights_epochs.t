-- SETUP: printf '{"ids": [1, 2, 3, 4]}\n{"ids": [5, 6, 7, 8, 9]}\n' > a.jsonl
-- SETUP: "$lockstep" tokenize a.jsonl -o a --hold-out 0 -q
return job {
  model = { "gpt2", layers = 4, width = 32, heads = 4, vocab = 64, positions = 8 },
  data = { train = { { "a/train.tok", weight = 0.5 } } },
  train = { batch = "3 sequences", context = 8, steps = "2 epochs" },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:4:57: error[conflict]: train.steps in epochs: sources with weights do
    not end together
    4 |   train = { batch = "3 sequences", context = 8, steps = "2 epochs" },
      |                                                         ^~~~~~~~~~
        fix: steps = "1e9 tokens"
