-- RUN: check job.lua --no-data -D cluster.inter=800
return job {
  model = "llama3-8b",
  data = "synthetic",
  train = { batch = "32 sequences", context = 4096, steps = 10 },
  optimizer = { "adamw", lr = 1e-4 },
  cluster = { "dgx-h100", nodes = 2 },
}
-- >>> exit 1
-D cluster.inter=800: error[wrong-type]: cluster.inter: expected a rate such as
    "50GB/s" (bytes) or "400Gb/s" (bits); got "800"
