-- RUN: check job.lua
return job {
  model = { "gpt2", layers = 4, width = 64, heads = 4, vocab = 64, positions = 16 },
  data = "synthetic",
  train = { batch = "24 sequences", steps = 10, microbatch = 1 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "dgx-h100", nodes = 2, devices = 6 },
  parallel = { tp = 4 },
}
-- >>> exit 1
job.lua:7:21: error[tp-across-domains]: tp 4 reaches over links that are slower
    than those of a domain, which joins 6 ranks
    7 |   parallel = { tp = 4 },
      |                     ^
        fix: tp = 2
    note: parallel.tp_across = true allows it
