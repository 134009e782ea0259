-- RUN: check job.lua --no-data
return job {
  model     = { "gpt2", layers = 1, width = 32, heads = 2, vocab = 64, positions = 32 },
  data      = { train = "a.u8", format = "u8" },
  train     = { batch = "4 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = "fp32",
  checkpoint = { every = "auto" },
}
-- >>> exit 1
job.lua:7:26: error[missing-key]: checkpoint.every is "auto", and the job does
    not say how often a node fails
    7 |   checkpoint = { every = "auto" },
      |                          ^~~~~~
        fix: cluster.mtbf = "200d"
