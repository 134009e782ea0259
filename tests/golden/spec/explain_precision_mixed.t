-- RUN: explain job.lua | grep -E "M_|moment|^states"
return job {
  model     = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 64, positions = 16 },
  data      = "synthetic",
  train     = { batch = "8 sequences", microbatch = 1, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = { "bf16", param = "fp32" },
  cluster   = "cpu-node",
}
-- >>> exit 0
M_model  parameters                   0.000113  28,032 x fp32
M_grad   gradients                    0.000113  fp32; 8 passes
M_opt    master                       0.000000  none: parameters are fp32
         moment m                     0.000113  fp32
         moment v                     0.000113  fp32
M_act    activations                  0.000034  bf16, recompute none
states   16.15 bytes a parameter; a rank is 4.89 times its parameters' bytes
