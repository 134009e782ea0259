-- RUN: explain job.lua
return job {
  model     = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 64, positions = 16 },
  data      = "synthetic",
  train     = { batch = "8 sequences", microbatch = 1, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = { "bf16", grad = "bf16", master = "split" },
  cluster   = "cpu-node",
}
-- >>> exit 0
model    gpt2               28,032 parameters   166 kFLOP/token
batch    8 sequences        = dp 1 x microbatch 1 x accumulation 8
ranks    1                  = tp 1 x cp 1 x pp 1 x dp 1   zero 0
passes   one stage          recompute none   precision bf16
cluster  cpu-node           1 x cpu, 16 threads a rank
memory   471 kB             of 60.1 GB a rank (0 %); packing 0.0 % above bound
proof    ok                 1 rank, 1 class, 0 communicators, 1429 accesses
run      10 steps           of 128 = 1,280 tokens

memory of one rank at the peak of a step, GB = 1e9 bytes
M_model  parameters                   0.000057  28,032 x bf16
M_grad   gradients                    0.000057  bf16; 8 passes
M_opt    master                       0.000057  split: the lower half of fp32
         moment m                     0.000113  fp32
         moment v                     0.000113  fp32
M_act    activations                  0.000034  bf16, recompute none
         activation gradients         0.000002
work     scratch of one call          0.000036
comm     gradients on the wire        0.000000
data     micro-batches                0.000002  steps staged: 2
control  what changes between steps   0.000000
packing  gaps at the peak             0.000001  peak / most alive = 1.0000
         arena                        0.000471  470,784 bytes, one allocation
budget   of a rank                   60.129542  cpu, 8.59 GB outside the arena

checkpoint
size     357 kB in 1 part, the largest 357 kB; 357 us at 1.00 GB/s (slurm.write)
every    30 minutes; cluster.mtbf = "200d", of a node, tells how often is best
states   14.13 bytes a parameter; a rank is 8.32 times its parameters' bytes
