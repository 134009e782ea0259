return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8Mi sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "here", devices = 2 },
}
-- >>> exit 1
job.lua:4:21: error[micro-batches]: 2,097,152 micro-batches in a step; a plan
    has at most 1,048,576
    4 |   train = { batch = "8Mi sequences", microbatch = 2, steps = 10 },
      |                     ^~~~~~~~~~~~~~~
        fix: batch = "4194304 sequences"
    note: or a larger microbatch
