-- RUN: check job.lua
-- SETUP: printf 'In the beginning God created the heaven and the earth. And the earth was without form, and void.' > a.txt
-- SETUP: for kind in gpt2 qwen2; do "$lockstep" tokenize a.txt -o $kind --tokenizer ${test%/golden/*}/tokenizers/$kind -q; done
return job {
  model = { "gpt2", layers = 4, width = 32, heads = 4, vocab = 400, positions = 8 },
  data = { train = "gpt2/train.tok", valid = "qwen2/train.tok" },
  train = { batch = "1 sequences", context = 8, steps = 2 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:3:46: error[data]: qwen2/train.tok: its ids are of another tokenizer
    than those of gpt2/train.tok
    3 |   data = { train = "gpt2/train.tok", valid = "qwen2/train.tok" },
      |                                              ^~~~~~~~~~~~~~~~~
        fix: lockstep tokenize TEXT... -o FOLDER --tokenizer PATH
