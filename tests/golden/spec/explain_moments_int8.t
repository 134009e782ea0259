-- RUN: explain job.lua
return job {
  model     = { "gpt2", layers = 2, width = 64, heads = 4, vocab = 256, positions = 64 },
  data      = "synthetic",
  train     = { batch = "8 sequences", microbatch = 1, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = { "bf16", grad = "bf16", master = "split", moments = "int8" },
  cluster   = "cpu-node",
}
-- >>> exit 0
model    gpt2               120,576 parameters   737 kFLOP/token
batch    8 sequences        = dp 1 x microbatch 1 x accumulation 8
ranks    1                  = tp 1 x cp 1 x pp 1 x dp 1   zero 0
passes   one stage          recompute none   precision bf16
cluster  cpu-node           1 x cpu, 16 threads a rank
memory   1.80 MB            of 60.1 GB a rank (0 %); packing 0.0 % above bound
proof    ok                 1 rank, 1 class, 0 communicators, 1459 accesses
run      10 steps           of 512 = 5,120 tokens

memory of one rank at the peak of a step, GB = 1e9 bytes
M_model  parameters                   0.000241  120,576 x bf16
M_grad   gradients                    0.000241  bf16; 8 passes
M_opt    master                       0.000241  split: the lower half of fp32
         moment m                     0.000188
         maxima of m                  0.000002  fp32, one for each 256 codes
         moment v                     0.000188
         maxima of v                  0.000002  fp32, one for each 256 codes
M_act    activations                  0.000266  bf16, recompute none
         activation gradients         0.000016
work     scratch of one call          0.000403
comm     gradients on the wire        0.000000
data     micro-batches                0.000009  steps staged: 2
control  what changes between steps   0.000000
packing  gaps at the peak             0.000000  peak / most alive = 1.0000
         arena                        0.001799  1,798,912 bytes, one allocation
budget   of a rank                   60.129542  cpu, 8.59 GB outside the arena
moment m: codes of 8 bits; fp32 of small tensors and tables
moment v: codes of 8 bits; fp32 of small tensors and tables

checkpoint
size     885 kB in 1 part, the largest 885 kB; 885 us at 1.00 GB/s (slurm.write)
every    30 minutes; cluster.mtbf = "200d", of a node, tells how often is best
states   9.15 bytes a parameter; a rank is 7.45 times its parameters' bytes
