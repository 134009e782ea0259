-- RUN: diff job.lua other.lua
return job {
  model = { "gpt2", layers = 2, width = 128, heads = 2, vocab = 512, positions = 256 },
  data = "synthetic",
  train = { batch = "8 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "dgx-h100", devices = 4 },
}
-- FILE: other.lua
return job { "./job.lua", parallel = { tp = 2 } }
-- >>> exit 1
against  other.lua

GB = 1e9 bytes; a rank at its peak     this job     against  difference
M_model  parameters                    0.000990    0.000530   +0.000460  +86.9%
M_grad   gradients                     0.001980    0.001060   +0.000921  +86.9%
M_opt    master                        0.000496    0.000530   -0.000034   -6.4%
         moment m                      0.000496    0.000530   -0.000034   -6.4%
         moment v                      0.000496    0.000530   -0.000034   -6.4%
M_act    activations                   0.002506    0.001417   +0.001089  +76.8%
         activation gradients          0.000066    0.000033   +0.000033 +100.0%
work     scratch of one call           0.033620    0.033620   +0.000000
data     micro-batches                 0.000006    0.000010   -0.000004  -40.0%
control  what changes between steps    0.000000    0.000000   +0.000000
         arena                         0.040854    0.038361   +0.002493   +6.5%
budget   of a rank                    83.632744   80.914835   +2.717909   +3.4%
host     arena in host memory          0.000009    0.000017   -0.000008  -48.5%
sent     by a rank in a step           0.002228    0.003567   -0.001338  -37.5%
         over dp                       0.002228    0.000795   +0.001434 +180.4%
         over tp                       0.000000    0.002772   -0.002772 -100.0%
         over dp+tp                    0.000000    0.000000   -0.000000 -100.0%
time     of a step, ms                 0.287315    1.165238   -0.877923  -75.3%
         compute                       0.187122    0.415577   -0.228455  -55.0%
         exposed dp                    0.100193    0.124193   -0.024000  -19.3%
         exposed tp                    0.000000    0.616048   -0.616048 -100.0%
         exposed several               0.000000    0.009420   -0.009420 -100.0%
         tokens a second                7128065     1757581    +5370484 +305.6%
