-- RUN: explain job.lua
return job {
  reason = "one rank is enough for a model of this size, and whoever reads the record of the run in a year should know that",
  model = { "gpt2", layers = 1, width = 32, heads = 4, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = "cpu-node",
}
-- >>> exit 0
model    gpt2               23,008 parameters   135 kFLOP/token
batch    8 sequences        = dp 1 x microbatch 1 x accumulation 8
ranks    1                  = tp 1 x cp 1 x pp 1 x dp 1   zero 0
passes   one stage          recompute none   precision bf16
cluster  cpu-node           1 x cpu, 16 threads a rank
memory   890 kB             of 60.1 GB a rank (0 %); packing 0.0 % above bound
proof    ok                 1 rank, 1 class, 0 communicators, 872 accesses
run      10 steps           of 512 = 5,120 tokens
reason   one rank is enough for a model of this size, and whoever reads the
         record of the run in a year should know that

memory of one rank at the peak of a step, GB = 1e9 bytes
M_model  parameters                   0.000046  23,008 x bf16
M_grad   gradients                    0.000093  fp32; 8 passes
M_opt    master                       0.000093  fp32: the optimizer's own copy
         moment m                     0.000093  fp32
         moment v                     0.000093  fp32
M_act    activations                  0.000068  bf16, recompute none
         activation gradients         0.000008
work     scratch of one call          0.000387
comm     gradients on the wire        0.000000
data     micro-batches                0.000009  steps staged: 2
control  what changes between steps   0.000000
packing  gaps at the peak             0.000001  peak / most alive = 1.0000
         arena                        0.000890  889,600 bytes, one allocation
budget   of a rank                   60.129542  cpu, 8.59 GB outside the arena

checkpoint
size     288 kB in 1 part, the largest 288 kB; 288 us at 1.00 GB/s (slurm.write)
every    30 minutes; cluster.mtbf = "200d", of a node, tells how often is best
states   18.13 bytes a parameter; a rank is 19.20 times its parameters' bytes
