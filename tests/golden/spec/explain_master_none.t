-- RUN: explain job.lua 2>&1 | grep -E -A5 "M_opt|^states"
return job {
  model = { "gpt2", layers = 1, width = 32, heads = 4, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = { "bf16", master = "none" },
  cluster = "cpu-node",
}
-- >>> exit 0
M_opt    master                       0.000000  none: the update rounds to bf16
         moment m                     0.000093  fp32
         moment v                     0.000093  fp32
M_act    activations                  0.000068  bf16, recompute none
         activation gradients         0.000008
work     scratch of one call          0.000387
--
states   14.10 bytes a parameter; a rank is 17.20 times its parameters' bytes
job.lua:6:34: lint[lost-updates]: bf16 weights near 1 are 1/128 apart: steps of
    lr 0.001 round away, norms stay as they are
    6 |   precision = { "bf16", master = "none" },
      |                                  ^~~~~~
        fix: master = "fp32"
