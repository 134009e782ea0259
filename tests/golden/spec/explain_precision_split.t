-- RUN: explain job.lua | grep -E "M_|moment|^states"
return job {
  model     = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 64, positions = 16 },
  data      = "synthetic",
  train     = { batch = "8 sequences", microbatch = 1, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = { "bf16", grad = "bf16", master = "split" },
  cluster   = "cpu-node",
}
-- >>> exit 0
M_model  parameters                   0.000057  28,032 x bf16
M_grad   gradients                    0.000057  bf16; 8 passes
M_opt    master                       0.000057  split: the lower half of fp32
         moment m                     0.000113  fp32
         moment v                     0.000113  fp32
M_act    activations                  0.000034  bf16, recompute none
states   14.13 bytes a parameter; a rank is 8.32 times its parameters' bytes
