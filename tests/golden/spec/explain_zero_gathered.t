-- RUN: explain job.lua
return job {
  model = { "gpt2", layers = 4, width = 256, heads = 4, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  parallel = { zero = 3 },
  cluster = "dgx-h100",
}
-- >>> exit 0
model    gpt2               3,241,472 parameters   19.7 MFLOP/token
batch    8 sequences        = dp 8 x microbatch 1 x accumulation 1
ranks    8                  = tp 1 x cp 1 x pp 1 x dp 8   zero 3
passes   one stage          recompute none   precision bf16
cluster  dgx-h100           8 x h100-sxm, 1 thread a rank
memory   52.4 MB            of 84.3 GB a rank (0 %); packing 0.0 % above bound
time     469 us             a step at peak rates   1,091,047 tokens/s
floor    50.6 us            no program takes less: bytes over the links of a
                            node
parts    compute 3.5 %, exposed dp 96 %
mfu      0.3 %              of the peak, if all runs at it
proof    ok                 8 ranks, 1 class, 1 communicator, 1214 accesses
run      10 steps           of 512 = 5,120 tokens   at least 506 us
cost     at least 1.12e-06 GPU-hours, 1.4e-07 node-hours

memory of one rank at the peak of a step, GB = 1e9 bytes
M_model  parameters                   0.004009
M_grad   gradients                    0.008203
M_opt    master                       0.001623
         moment m                     0.001623  fp32; 1/8 (zero 3)
         moment v                     0.001623  fp32; 1/8 (zero 3)
M_act    activations                  0.001579  bf16, recompute none
         activation gradients         0.000066
work     scratch of one call          0.033719
comm     gradients on the wire        0.000000
data     micro-batches                0.000001  steps staged: 2
control  what changes between steps   0.000000
packing  gaps at the peak             0.000000  peak / most alive = 1.0000
         arena                        0.052444  52,444,416 bytes, one allocation
host     pinned                       0.000002  staged micro-batches
nccl     buffers, estimated           1.207960
budget   of a rank                   84.269849
parameters: 3,241,472 x bf16; 1/8 (zero 3) and 3.15 MB gathered
gradients: fp32; 1 pass; 1/8 (zero 3) and 6.58 MB not yet reduced
master: fp32: the optimizer's own copy; 1/8 (zero 3)
buffers, estimated: 2 communicators (--layouts), outside the arena
of a rank: h100-sxm, 1.20 GB outside the arena

checkpoint
size     39.2 MB in 8 parts, the largest 4.90 MB; 39.2 ms at 1.00 GB/s
                            (slurm.write)
every    30 minutes; cluster.mtbf = "200d", of a node, tells how often is best
