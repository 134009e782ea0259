-- RUN: explain job.lua -D parallel.tp=2 --against parallel.tp=1 --against 'train.batch=16 sequences' --against cluster.devices=8
return job {
  model = { "gpt2", layers = 12, width = 1024, heads = 16, vocab = 4096, positions = 1024 },
  data = "synthetic",
  train = { batch = "8 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "dgx-h100", devices = 4 },
  parallel = { zero = 3 },
}
-- >>> exit 0
against  parallel.tp=1 train.batch=16 sequences cluster.devices=8

GB = 1e9 bytes; a rank at its peak     this job     against  difference
M_model  parameters                    0.104047    0.089715   +0.014332  +16.0%
M_grad   gradients                     0.216322    0.195747   +0.020575  +10.5%
M_opt    master                        0.157524    0.078200   +0.079324 +101.4%
         moment m                      0.157524    0.078200   +0.079324 +101.4%
         moment v                      0.157524    0.078200   +0.079324 +101.4%
M_act    activations                   0.208073    0.370004   -0.161931  -43.8%
         activation gradients          0.002097    0.004194   -0.002097  -50.0%
work     scratch of one call           0.039913    0.044041   -0.004129   -9.4%
comm     gradients on the wire         0.012602    0.006298   +0.006304 +100.1%
data     micro-batches                 0.000041    0.000025   +0.000016  +66.7%
control  what changes between steps    0.000000    0.000000   +0.000000
         arena                         1.061861    0.950802   +0.111059  +11.7%
budget   of a rank                    80.914835   83.632744   -2.717909   -3.2%
host     arena in host memory          0.472638    0.234633   +0.238005 +101.4%
sent     by a rank in a step           1.701024    2.199755   -0.498732  -22.7%
         over tp                       0.437469    0.000000   +0.437469
         over dp                       1.263555    2.199755   -0.936201  -42.6%
         over dp+tp                    0.000000    0.000000   +0.000000
time     of a step, ms                14.002317   14.465464   -0.463147   -3.2%
         compute                       6.801075    5.346679   +1.454396  +27.2%
         exposed dp                    1.822596    8.772379   -6.949783  -79.2%
         exposed tp                    5.194092    0.000000   +5.194092
         exposed several               0.009420    0.000000   +0.009420
         tokens a second                 585046     1132629     -547583  -48.3%
ranks                                         4           8          -4  -50.0%
