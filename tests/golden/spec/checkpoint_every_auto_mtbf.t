-- RUN: explain job.lua checkpoint.every --no-data
return job {
  model     = { "gpt2", layers = 1, width = 32, heads = 2, vocab = 64, positions = 32 },
  data      = { train = "a.u8", format = "u8" },
  train     = { batch = "4 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = "fp32",
  checkpoint = { every = "auto" },
  cluster = { "here", mtbf = "1h" },
}
-- >>> exit 0
checkpoint.every       auto                    job: job.lua:7:26
