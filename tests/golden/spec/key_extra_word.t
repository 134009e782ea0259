return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { 64, batch = "8 sequences", steps = 10 },
  optimizer = { "adamw", "sgd", lr = 1 },
}
-- >>> exit 1
job.lua:4:13: error[wrong-type]: train holds a value without a key: 64
    4 |   train = { 64, batch = "8 sequences", steps = 10 },
      |             ^~
job.lua:5:26: error[wrong-type]: optimizer holds a value without a key: "sgd"
    5 |   optimizer = { "adamw", "sgd", lr = 1 },
      |                          ^~~~~
2 errors
