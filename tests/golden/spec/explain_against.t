-- RUN: explain job.lua --against parallel.zero=0
return job {
  model = { "gpt2", layers = 12, width = 1024, heads = 16, vocab = 4096, positions = 1024 },
  data = "synthetic",
  train = { batch = "8 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "dgx-h100", devices = 4 },
  parallel = { zero = 3 },
}
-- >>> exit 0
against  parallel.zero=0

GB = 1e9 bytes; a rank at its peak     this job     against  difference
M_model  parameters                    0.128774    0.312799   -0.184025  -58.8%
M_grad   gradients                     0.273947    0.625598   -0.351652  -56.2%
M_opt    master                        0.156400    0.625598   -0.469199  -75.0%
         moment m                      0.156400    0.625598   -0.469199  -75.0%
         moment v                      0.156400    0.625598   -0.469199  -75.0%
M_act    activations                   0.370004    0.416231   -0.046227  -11.1%
         activation gradients          0.004194    0.002097   +0.002097 +100.0%
work     scratch of one call           0.044041    0.035653   +0.008389  +23.5%
comm     gradients on the wire         0.012596    0.000000   +0.012596
data     micro-batches                 0.000025    0.000025   +0.000000
control  what changes between steps    0.000000    0.000000   +0.000000
         arena                         1.302781    3.275491   -1.972710  -60.2%
budget   of a rank                    83.632744   83.028764   +0.603980   +0.7%
host     arena in host memory          0.469232    1.876829   -1.407597  -75.0%
sent     by a rank in a step           1.885505    0.938398   +0.947107 +100.9%
         over dp                       1.885505    0.938398   +0.947107 +100.9%
time     of a step, ms                10.970040    8.569644   +2.400396  +28.0%
         compute                       5.568287    6.979298   -1.411011  -20.2%
         exposed dp                    5.130513    1.590346   +3.540167 +222.6%
         tokens a second                 746761      955932     -209171  -21.9%
