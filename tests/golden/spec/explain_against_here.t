-- RUN: explain job.lua -D cluster=here -D cluster.devices=4 -D cluster.memory=80GB --against parallel.zero=1
return job {
  model = { "gpt2", layers = 12, width = 1024, heads = 16, vocab = 4096, positions = 1024 },
  data = "synthetic",
  train = { batch = "8 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "dgx-h100", devices = 4 },
  parallel = { zero = 3 },
}
-- >>> exit 0
against  parallel.zero=1

GB = 1e9 bytes; a rank at its peak     this job     against  difference
M_model  parameters                    0.128774    0.312799   -0.184025  -58.8%
M_grad   gradients                     0.273947    0.625598   -0.351652  -56.2%
M_opt    master                        0.156400    0.156400   +0.000000
         moment m                      0.156400    0.156400   +0.000000
         moment v                      0.156400    0.156400   +0.000000
M_act    activations                   0.370004    0.416231   -0.046227  -11.1%
         activation gradients          0.004194    0.000000   +0.004194
work     scratch of one call           0.025167    0.016778   +0.008389  +50.0%
comm     gradients on the wire         0.012596    0.000000   +0.012596
data     micro-batches                 0.000041    0.000041   +0.000000
control  what changes between steps    0.000000    0.000000   +0.000000
save     snapshot                      0.469199    0.469199   +0.000000
         arena                         1.753122    2.311944   -0.558822  -24.2%
budget   of a rank                    70.000000   70.000000   +0.000000
sent     by a rank in a step           1.885505    0.703798   +1.181706 +167.9%
         over dp                       1.885505    0.703798   +1.181706 +167.9%
