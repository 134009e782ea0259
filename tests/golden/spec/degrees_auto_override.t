-- RUN: check job.lua --no-data -D parallel=auto
return job {
  model = { "gpt2", layers = 4, width = 32, heads = 4, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "64 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "here", devices = 8 },
  parallel = { tp = 2 },
}
-- >>> exit 1
-D parallel=auto: error[not-built]: parallel = "auto" is not built yet; write
    the degrees, or nothing: then all ranks are replicas
