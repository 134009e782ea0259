-- RUN: explain job.lua | grep -E "M_|moment|maxima|^states"
return job {
  model     = { "gpt2", layers = 2, width = 64, heads = 4, vocab = 256, positions = 64 },
  data      = "synthetic",
  train     = { batch = "8 sequences", microbatch = 1, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = { "bf16", grad = "bf16", master = "split", moments = "int8" },
  cluster   = "cpu-node",
}
-- >>> exit 0
M_model  parameters                   0.000241  120,576 x bf16
M_grad   gradients                    0.000241  bf16; 8 passes
M_opt    master                       0.000241  split: the lower half of fp32
         moment m                     0.000188
         maxima of m                  0.000002  fp32, one for each 256 codes
         moment v                     0.000188
         maxima of v                  0.000002  fp32, one for each 256 codes
M_act    activations                  0.000266  bf16, recompute none
moment m: codes of 8 bits; fp32 of small tensors and tables
moment v: codes of 8 bits; fp32 of small tensors and tables
states   9.15 bytes a parameter; a rank is 7.45 times its parameters' bytes
