return job {
  model = "gpt2-124n",
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:2:11: error[unknown-preset]: no model is named 'gpt2-124n'; did you mean
    'gpt2-124m'?
    2 |   model = "gpt2-124n",
      |           ^~~~~~~~~~~
        fix: "gpt2-124m"
