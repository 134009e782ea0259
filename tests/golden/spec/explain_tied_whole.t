-- RUN: explain job.lua
-- Both uses of the table of words are on stage 0: its gradients stay whole, and the table says so.
return job {
  model     = { "gpt2", layers = 8, width = 64, heads = 4, vocab = 5000, positions = 64 },
  data      = "synthetic",
  train     = { batch = "16 sequences", microbatch = 1, context = 16, steps = 4 },
  optimizer = { "adamw", lr = 1e-3 },
  parallel  = { pp = 2, zero = 2, pipeline = "zb-v" },
  cluster   = { "dgx-h100", devices = 4 },
}
-- >>> exit 0
model    gpt2               724,096 parameters   4.33 MFLOP/token
batch    16 sequences       = dp 2 x microbatch 1 x accumulation 8
ranks    4                  = tp 1 x cp 1 x pp 2 x dp 2   zero 2
passes   zb-v               recompute none   precision bf16
cluster  dgx-h100           4 x h100-sxm, 1 thread a rank
memory   39.3 MB to 39.4 MB of 84.3 GB a rank (0 %); packing 0.0 % above bound
time     57.5 us            a step at peak rates   4,450,625 tokens/s
floor    11.5 us            no program takes less: bytes over the links of a
                            node
parts    compute 41 %, exposed dp 7.0 %, pp 12 %, several 16 %, bubble 19 %,
                            other lanes 5.9 %
mfu      0.5 %              of the peak, if all runs at it
proof    ok                 4 ranks, 2 classes, 3 communicators, 9824 accesses
run      4 steps            of 256 = 1,024 tokens   at least 45.9 us
cost     at least 5.1e-08 GPU-hours, 1.27e-08 node-hours

memory of one rank at the peak of a step, GB = 1e9 bytes
                                       stage 0    stage 1
M_model  parameters                   0.000849   0.000601  724,096 x bf16
M_grad   gradients                    0.001890   0.002601
M_opt    master                       0.000849   0.000602
         moment m                     0.000849   0.000602  fp32; 1/2 (zero 2)
         moment v                     0.000849   0.000602  fp32; 1/2 (zero 2)
M_act    activations                  0.000295   0.000283  bf16, recompute none
         activation gradients         0.000023   0.000170
work     scratch of one call          0.033557   0.033557
comm     gradients on the wire        0.000200   0.000300
data     micro-batches                0.000001   0.000001  steps staged: 2
control  what changes between steps   0.000000   0.000000
packing  gaps at the peak             0.000002   0.000001
         arena                        0.039364   0.039320
host     pinned                       0.000003   0.000003  staged micro-batches
nccl     buffers, estimated           1.610613   1.610613
budget   of a rank                   84.269849  84.269849
gradients: fp32; 8 passes; 1/2 (zero 2) and 2.00 MB not yet reduced; tied
    wte.weight: whole
master: fp32: the optimizer's own copy; 1/2 (zero 2)
gaps at the peak: peak / most alive = 1.0000
arena: 39,364,352 bytes, one allocation
buffers, estimated: 3 communicators (--layouts), outside the arena
of a rank: h100-sxm, 1.20 GB outside the arena

checkpoint
size     8.83 MB in 4 parts, the largest 2.57 MB; 8.83 ms at 1.00 GB/s
                            (slurm.write)
every    30 minutes; cluster.mtbf = "200d", of a node, tells how often is best
job.lua:7:22: lint[imbalance]: the heaviest stage has 42 % more work than the
    mean, and the others wait for it (`explain --schedule` says why)
    7 |   parallel  = { pp = 2, zero = 2, pipeline = "zb-v" },
      |                      ^
