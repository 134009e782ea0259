-- RUN: check job.lua --no-data
return job {
  model = { "gpt2", layers = 4, width = 64, heads = 4, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "16 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  parallel = { zero = 3, zero_unit = "1MB", zero_keep = "1GB" },
  cluster = "dgx-h100",
}
-- >>> exit 0
job.lua:6:38: lint[no-effect]: parallel.zero_unit: nothing is gathered, because
    every parameter is smaller than zero_keep
    6 |   parallel = { zero = 3, zero_unit = "1MB", zero_keep = "1GB" },
      |                                      ^~~~~
        fix: remove zero_unit
job.lua:6:57: lint[no-effect]: zero_keep = 1.00 GB keeps every parameter whole:
    zero 3 shares no weights
    6 |   parallel = { zero = 3, zero_unit = "1MB", zero_keep = "1GB" },
      |                                                         ^~~~~
        fix: remove zero_keep
job.lua: right
