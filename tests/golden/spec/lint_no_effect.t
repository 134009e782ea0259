-- RUN: check job.lua --no-data
return job {
  model = { "gpt2", layers = 4, width = 64, heads = 4, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  schedule = { "cosine", floor = 1 },
  parallel = { zero = 3,
    zero_unit = "100GB", zero_prefetch = 9, zero_keep = "0B", zero_reduce = "step", zero_reshard = "step" },
  memory = { recompute = { "every", blocks = 9 } },
  checkpoint = { every = "20 steps" },
  log = { every = 20 },
  cluster = { "dgx-h100", inter = "400Gb/s", taper = 2 },
}
-- >>> exit 0
job.lua:6:34: lint[no-effect]: floor = 1: lr never decays
    6 |   schedule = { "cosine", floor = 1 },
      |                                  ^
        fix: floor = 0.1
job.lua:8:17: lint[no-effect]: zero_unit = 100 GB gathers all 6 parts of a
    stage at once, 484 kB: every rank then holds the weights that zero 3 shares
    8 |     zero_unit = "100GB", zero_prefetch = 9, zero_keep = "0B", zero_reduce = "step", zero_r
      |                 ^~~~~~~
        fix: remove zero_unit
job.lua:8:42: lint[no-effect]: zero_prefetch = 9 gathers all 6 parts of a stage
    ahead: every rank then holds the weights that zero 3 shares
    8 |     zero_unit = "100GB", zero_prefetch = 9, zero_keep = "0B", zero_reduce = "step", zero_r
      |                                          ^
        fix: remove zero_prefetch
job.lua:8:77: lint[no-effect]: zero_reduce = "step" is "micro": a step has one
    micro-batch
    8 | h = 9, zero_keep = "0B", zero_reduce = "step", zero_reshard = "step" },
      |                                        ^~~~~~
        fix: remove zero_reduce
job.lua:8:100: lint[no-effect]: zero_reshard = "step" is "chunk": a step has
    one micro-batch
    8 | , zero_reduce = "step", zero_reshard = "step" },
      |                                        ^~~~~~
        fix: zero_reshard = "chunk"
job.lua:9:26: lint[no-effect]: every 9 blocks: the model has 4, which are all
    computed again from the first
    9 |   memory = { recompute = { "every", blocks = 9 } },
      |                          ^
        fix: recompute = "sqrt"
job.lua:10:26: lint[no-effect]: checkpoint.every = 20, and the run has 10
    steps: it saves only at the end
   10 |   checkpoint = { every = "20 steps" },
      |                          ^~~~~~~~~~
        fix: remove every
job.lua:11:19: lint[no-effect]: log.every = 20, and the run has 10 steps: only
    the first and the last are printed
   11 |   log = { every = 20 },
      |                   ^~
        fix: remove every
job.lua:12:35: lint[no-effect]: cluster.inter: there is one node
   12 |   cluster = { "dgx-h100", inter = "400Gb/s", taper = 2 },
      |                                   ^~~~~~~~~
        fix: remove inter
job.lua:12:54: lint[no-effect]: cluster.taper: there is one node
   12 |   cluster = { "dgx-h100", inter = "400Gb/s", taper = 2 },
      |                                                      ^
        fix: remove taper
job.lua: right
