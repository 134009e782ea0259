return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = { "table", train = "t.csv" },
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:3:3: error[missing-key]: data.columns is missing: which CSV columns feed
    which input; required for table
    3 |   data = { "table", train = "t.csv" },
      |   ^~~~
        fix: columns = { x = { "area" }, y = { "price" } }
