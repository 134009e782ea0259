-- RUN: check job.lua
-- SETUP: cp -r ${test%/golden/*}/weights/gpt2 model; cp ${test%/golden/*}/tokenizers/gpt2/tokenizer.json model
-- SETUP: printf '{"ids": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]}\n' > a.jsonl
-- SETUP: "$lockstep" tokenize a.jsonl -o data --tokenizer ${test%/golden/*}/tokenizers/qwen2 -q
return job {
  model = { "./model" },
  data = { train = "data/train.tok" },
  train = { batch = "1 sequences", context = 8, steps = 2 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:3:20: error[data]: data/train.tok: its ids are of another tokenizer than
    the model's, model/tokenizer.json
    3 |   data = { train = "data/train.tok" },
      |                    ^~~~~~~~~~~~~~~~
        fix: lockstep tokenize TEXT... -o FOLDER --tokenizer model/tokenizer.json
