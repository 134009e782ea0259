-- RUN: explain job.lua -q --against 'offload={ optimizer = "nvme", path = "/scratch" }'
return job {
  model = "llama2-7b",
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 1, context = 4096, steps = 1 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = "bf16",
  cluster = { "dgx-h100", devices = 1 },
  memory = { recompute = "block" },
  offload = "cpu",
}
-- >>> exit 0
against  offload={ optimizer = "nvme", path = "/scratch" }

GB = 1e9 bytes; a rank at its peak     this job     against  difference
M_model  parameters                   13.476831   13.476831   +0.000000
M_grad   gradients                    26.953662   26.953662   +0.000000
M_act    activations                   1.489535    1.489535   +0.000000
         activation gradients          0.067109    0.067109   +0.000000
work     scratch of one call           0.304089    0.304089   +0.000000
data     micro-batches                 0.000295    0.000295   +0.000000
control  what changes between steps    0.000000    0.000000   +0.000000  +15.4%
         arena                        42.291523   42.291523   +0.000000
budget   of a rank                    84.840704   84.840704   +0.000000
host     arena in host memory        189.080929    8.500823 +180.580106 +2124.3%
file     of a rank                     0.000000   80.864281  -80.864281 -100.0%
sent     by a rank in a step           0.000000    0.000000   +0.000000
time     of a step, ms               3168.98644  6627.05871 -3458.07227  -52.2%
         compute                     2928.12460  2928.12460    +0.00000
         exposed offload              240.86184  3698.93411 -3458.07227  -93.5%
         tokens a second                  10340        4945       +5396 +109.1%
