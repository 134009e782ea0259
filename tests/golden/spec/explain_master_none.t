-- RUN: explain job.lua
return job {
  model = { "gpt2", layers = 1, width = 32, heads = 4, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = { "bf16", master = "none" },
  cluster = "cpu-node",
}
-- >>> exit 0
model    gpt2               23,008 parameters   135 kFLOP/token
batch    8 sequences        = dp 1 x microbatch 1 x accumulation 8
ranks    1                  = tp 1 x cp 1 x pp 1 x dp 1   zero 0
passes   one stage          recompute none   precision bf16
cluster  cpu-node           1 x cpu, 16 threads a rank
memory   797 kB             of 60.1 GB a rank (0 %); packing 0.0 % above bound
proof    ok                 1 rank, 1 class, 0 communicators, 820 accesses
run      10 steps           of 512 = 5,120 tokens

memory of one rank at the peak of a step, GB = 1e9 bytes
M_model  parameters                   0.000046  23,008 x bf16
M_grad   gradients                    0.000093  fp32; 8 passes
M_opt    master                       0.000000  none: the update rounds to bf16
         moment m                     0.000093  fp32
         moment v                     0.000093  fp32
M_act    activations                  0.000068  bf16, recompute none
         activation gradients         0.000008
work     scratch of one call          0.000387
comm     gradients on the wire        0.000000
data     micro-batches                0.000009  steps staged: 2
control  what changes between steps   0.000000
packing  gaps at the peak             0.000001  peak / most alive = 1.0000
         arena                        0.000797  796,928 bytes, one allocation
budget   of a rank                   60.129542  cpu, 8.59 GB outside the arena

checkpoint
size     242 kB in 1 part, the largest 242 kB; 242 us at 1.00 GB/s (slurm.write)
every    30 minutes; cluster.mtbf = "200d", of a node, tells how often is best
states   14.10 bytes a parameter; a rank is 17.20 times its parameters' bytes
job.lua:6:34: lint[lost-updates]: bf16 weights near 1 are 1/128 apart: steps of
    lr 0.001 round away, norms stay as they are
    6 |   precision = { "bf16", master = "none" },
      |                                  ^~~~~~
        fix: master = "fp32"
