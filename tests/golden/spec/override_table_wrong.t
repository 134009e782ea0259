-- RUN: check job.lua --no-data -D 'parallel.stages={2, "two"}' -D 'optimizer={lr={1}}' -D 'parallel={tq=2}' -D 'train={5}'
return job {
  model = { "gpt2", layers = 8, width = 32, heads = 4, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "64 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "here", devices = 8 },
  parallel = { pp = 2, pipeline = { "interleaved", chunks = 2 } },
}
-- >>> exit 1
-D optimizer={lr={1}}: error[wrong-type]: optimizer.lr: expected a number such
    as 6e-4; got a table
-D parallel.stages={2, "two"}: error[wrong-type]: parallel.stages: expected a
    list of whole numbers: { 9, 8, 8, 7 }; got a table
-D parallel={tq=2}: error[unknown-key]: parallel.tq: no such key
    note: lockstep help parallel lists its keys
-D train={5}: error[wrong-type]: train holds a value without a key: 5
4 errors
