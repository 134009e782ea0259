-- RUN: check job.lua
return job {
  model = { "gpt2", layers = 4, width = 64, heads = 4, vocab = 64, positions = 16 },
  data = "synthetic",
  train = { batch = "8 sequences", steps = 10, microbatch = 1 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = "dgx-a100",
  parallel = { tp = 2, order = "tp-dp cp pp dp" },
}
-- >>> exit 1
job.lua:7:32: error[order]: order names tp, cp, pp and dp once each, innermost
    first; got "tp-dp cp pp dp"
    7 |   parallel = { tp = 2, order = "tp-dp cp pp dp" },
      |                                ^~~~~~~~~~~~~~~~
        fix: order = "tp cp pp dp"
    note: one axis may be on a slant, by axes inside it: dp*2 tp cp pp dp-tp
