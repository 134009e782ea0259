-- RUN: explain job.lua --against precision.linear=fp8
return job {
  model     = { "gpt2", layers = 1, width = 128, heads = 2, vocab = 64, positions = 128 },
  data      = "synthetic",
  train     = { batch = "1 sequences", steps = 2 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = { "bf16", linear = { "fp8", scaling = "block" } },
  parallel  = { tp = 2 },
  cluster   = { "here", devices = 2, device = "h100-sxm" },
}
-- >>> exit 0
against  precision.linear=fp8

GB = 1e9 bytes; a rank at its peak     this job     against  difference
M_model  parameters                    0.000241    0.000241   +0.000000
         codes of weights              0.000066    0.000099   -0.000033  -33.4%
M_grad   gradients                     0.000481    0.000481   +0.000000
M_opt    master                        0.000481    0.000481   +0.000000
         moment m                      0.000481    0.000481   +0.000000
         moment v                      0.000481    0.000481   +0.000000
M_act    activations                   0.000297    0.000166   +0.000131  +78.8%
         codes of activations          0.000000    0.000074   -0.000074 -100.0%
         activation gradients          0.000033    0.000033   +0.000000
work     scratch of one call           0.033727    0.033702   +0.000025   +0.1%
data     micro-batches                 0.000002    0.000002   +0.000000
control  what changes between steps    0.000000    0.000000   +0.000000
         arena                         0.036291    0.036242   +0.000049   +0.1%
budget   of a rank                    83.934734   83.934734   +0.000000
host     arena in host memory          0.000003    0.000003   +0.000000
sent     by a rank in a step           0.000268    0.000268   +0.000000
         over tp                       0.000268    0.000268   +0.000000
time     of a step, ms                 0.243022    0.245347   -0.002325   -0.9%
         compute                       0.084622    0.086947   -0.002325   -2.7%
         exposed tp                    0.158400    0.158400   +0.000000
         tokens a second                 526701      521710       +4991   +1.0%
