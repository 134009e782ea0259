return job {
  model = { "gpt2", layers = 4, width = 32, heads = 4, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "64 sequences", context = 60, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "here", devices = 8 },
  parallel = { tp = 4, cp = 2 },
}
-- >>> exit 1
job.lua:4:47: error[context-multiple]: context 60 / cp 2 = 30 tokens is not a
    multiple of tp 4, and sequence cuts it by tp
    4 |   train = { batch = "64 sequences", context = 60, steps = 10 },
      |                                               ^~
        fix: context = 56
    note: nearest above: 64
    note: or keep whole norms and residuals: sequence = false
