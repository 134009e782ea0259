-- RUN: explain job.lua -D precision.param=bf16 | grep -E "M_|moment|cast|^states"
return job {
  model     = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 64, positions = 16 },
  data      = "synthetic",
  train     = { batch = "8 sequences", microbatch = 1, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = "fp32",
  cluster   = "cpu-node",
}
-- >>> exit 0
M_model  parameters                   0.000057  28,032 x bf16
         parameters, cast             0.000051  fp32, as kernels read them
M_grad   gradients                    0.000113  fp32; 8 passes
M_opt    master                       0.000113  fp32: the optimizer's own copy
         moment m                     0.000113  fp32
         moment v                     0.000113  fp32
M_act    activations                  0.000066  fp32, recompute none
states   18.16 bytes a parameter; a rank is 11.91 times its parameters' bytes
