return job {
  model = { "gpt2", layers = 4, width = 32, heads = 4, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "64 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "here", devices = 8 },
  parallel = { zero = 1, zero_prefetch = 2, zero_keep = "1MiB", zero_unit = "layer" },
}
-- >>> exit 1
job.lua:7:42: error[conflict]: parallel.zero_prefetch is for zero 3; zero is 1
    7 |   parallel = { zero = 1, zero_prefetch = 2, zero_keep = "1MiB", zero_unit = "layer" },
      |                                          ^
        fix: remove zero_prefetch
job.lua:7:57: error[conflict]: parallel.zero_keep is for zero 3; zero is 1
    7 |   parallel = { zero = 1, zero_prefetch = 2, zero_keep = "1MiB", zero_unit = "layer" },
      |                                                         ^~~~~~
        fix: remove zero_keep
job.lua:7:77: error[conflict]: parallel.zero_unit is for zero 3; zero is 1
    7 | h = 2, zero_keep = "1MiB", zero_unit = "layer" },
      |                                        ^~~~~~~
        fix: remove zero_unit
3 errors
