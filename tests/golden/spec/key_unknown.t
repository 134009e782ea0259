return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", steps = 10, zzzz_qqqq = 1 },
  optimizer = { "adamw", lr = 1e-3 },
  zzzz_qqqq = 1,
}
-- >>> exit 1
job.lua:4:48: error[unknown-key]: train.zzzz_qqqq: no such key
    4 |   train = { batch = "8 sequences", steps = 10, zzzz_qqqq = 1 },
      |                                                ^~~~~~~~~
    note: lockstep help train lists its keys
job.lua:6:3: error[unknown-section]: zzzz_qqqq: no such section or key
    6 |   zzzz_qqqq = 1,
      |   ^~~~~~~~~
    note: lockstep help lists them
2 errors
