-- RUN: explain job.lua --breakdown --svg w.svg; grep -c rect w.svg
return job {
  model = { "llama", layers = 8, width = 4096, heads = 32, kv_heads = 8, ffn = 14336, vocab = 32000, positions = 4096 },
  data = "synthetic",
  train = { batch = "64 sequences", microbatch = 1, context = 4096, steps = 1 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = "bf16",
  cluster = { "dgx-h100", nodes = 2 },
  parallel = { tp = 2, pp = 2, zero = 1 },
}
-- >>> exit 0
a step of the slowest stage        ms      %
matrix products               245.807   58.2  #################
attention kernels              36.139    8.6                   ###
optimizer                       1.426    0.3                      #
bound by memory                40.490    9.6                      ###
exposed dp                      3.072    0.7                         #
exposed pp                      5.770    1.4                         #
exposed tp                     31.378    7.4                          ##
bubble                         58.152   13.8                            ####
expected                      422.276  100.0
hidden dp                       4.212  beside kernels
hidden pp                       0.721  beside kernels
hidden tp                       0.061  beside kernels
next     parallel.pp = 1: 387 ms a step, 8.4 % less; 9.89 GB a rank
wrote    w.svg
9
