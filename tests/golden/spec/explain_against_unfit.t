-- RUN: explain job.lua --against cluster.memory=3GB --against parallel.zero=0
return job {
  model = { "gpt2", layers = 12, width = 1024, heads = 16, vocab = 4096, positions = 1024 },
  data = "synthetic",
  train = { batch = "8 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "dgx-h100", devices = 4 },
  parallel = { zero = 3 },
}
-- >>> exit 0
against  cluster.memory=3GB parallel.zero=0

GB = 1e9 bytes; a rank at its peak     this job     against  difference
M_model  parameters                    0.128774    0.312799   -0.184025  -58.8%
M_grad   gradients                     0.273947    0.625598   -0.351652  -56.2%
M_opt    master                        0.156400    0.625598   -0.469199  -75.0%
         moment m                      0.156400    0.625598   -0.469199  -75.0%
         moment v                      0.156400    0.625598   -0.469199  -75.0%
M_act    activations                   0.370004    0.056709   +0.313295 +552.5%
         activation gradients          0.004194    0.004194   +0.000000
work     scratch of one call           0.044041    0.044041   +0.000000
comm     gradients on the wire         0.012596    0.000000   +0.012596
data     micro-batches                 0.000025    0.000025   +0.000000
control  what changes between steps    0.000000    0.000000   +0.000000  +15.4%
         recompute                         none every block
         arena                         1.302781    2.920163   -1.617382  -55.4%
budget   of a rank                    83.632744    0.558915  +83.073829
                                           fits   too large
host     arena in host memory          0.469232    0.000033   +0.469199
sent     by a rank in a step           1.885505    0.938398   +0.947107 +100.9%
         over dp                       1.885505    0.938398   +0.947107 +100.9%
time     of a step, ms                10.970040    9.218383   +1.751657  +19.0%
         compute                       5.568287    8.176970   -2.608683  -31.9%
         exposed dp                    5.130513    1.041413   +4.089100 +392.6%
         tokens a second                 746761      888659     -141898  -16.0%
