-- RUN: check job.lua
return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  [{}] = 1,
}
-- >>> exit 1
job.lua:1:8: error[wrong-type]: job has the key [table]; keys are words
    1 | return job {
      |        ^~~
