-- RUN: check job.lua
return job {
  model = { "gpt2", layers = 4, width = 64, heads = 4, vocab = 64, positions = 16 },
  data = "synthetic",
  train = { batch = "8 sequences", steps = 10, microbatch = 1 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "dgx-a100", nodes = 2, devices = 2 },
  parallel = { tp = 2, order = "dp tp cp pp" },
}
-- >>> exit 1
job.lua:7:21: error[tp-across-domains]: tp 2 reaches over links that are slower
    than those of a domain, which joins 2 ranks
    7 |   parallel = { tp = 2, order = "dp tp cp pp" },
      |                     ^
        fix: remove order
    note: parallel.tp_across = true allows it
