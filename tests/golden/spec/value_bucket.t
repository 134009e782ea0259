return job {
  model = { "gpt2", layers = 4, width = 32, heads = 4, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "64 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "here", devices = 8 },
  parallel = { bucket = "25M" },
}
-- >>> exit 1
job.lua:7:25: error[unit]: parallel.bucket: expected bytes such as "80GiB"
    (2^30) or "80GB" (1e9); got "25M"
    7 |   parallel = { bucket = "25M" },
      |                         ^~~~~
        fix: bucket = "25MB"
