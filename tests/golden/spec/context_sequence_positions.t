-- RUN: check job.lua --no-data -D model.positions=62
return job {
  model = { "gpt2", layers = 4, width = 32, heads = 4, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "64 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "here", devices = 8 },
  parallel = { tp = 4 },
}
-- >>> exit 1
job.lua:7:21: error[context-multiple]: context 62 is not a multiple of tp 4, and
    sequence cuts it by tp
    7 |   parallel = { tp = 4 },
      |                     ^
        fix: context = 60
    note: or keep whole norms and residuals: sequence = false
