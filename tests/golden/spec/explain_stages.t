-- RUN: explain job.lua
return job {
  model = { "gpt2", layers = 8, width = 256, heads = 4, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  parallel = { pp = 8 },
  cluster = "dgx-h100",
}
-- >>> exit 0
model    gpt2               6,400,512 parameters   38.9 MFLOP/token
batch    8 sequences        = dp 1 x microbatch 1 x accumulation 8
ranks    8                  = tp 1 x cp 1 x pp 8 x dp 1   zero 0
passes   1f1b               recompute none   precision bf16
cluster  dgx-h100           8 x h100-sxm, 1 thread a rank
memory   49.1 MB to 53.7 MB of 83.1 GB a rank (0 %); packing 0.0 % above bound
time     824 us             a step, expected   621,344 tokens/s
range    0.88 to 1.13       8 of 10 runs take from 725 us to 931 us
floor    7.81 us            no program takes less: memory traffic of the update
parts    compute 47 %, exposed pp 10 %, bubble 41 %, other lanes 1.3 %
compute  products 22 %, attention 3.2 %, optimizer 1.6 %, memory-bound 20 %
bound    bubble of the pipeline: 41 % of the step
mfu      0.3 %              of the peak; HFU 0.3 %, with what is computed again
proof    ok                 8 ranks, 8 classes, 1 communicator, 9475 accesses
run      10 steps           of 512 = 5,120 tokens   8.24 ms
cost     1.83e-05 GPU-hours (at least 1.73e-07), 2.29e-06 node-hours

memory of one rank at the peak of a step, GB = 1e9 bytes
4 of 8 stages; --json has all
                                       stage 0    stage 1    stage 6    stage 7
M_model  parameters                   0.001743   0.001580   0.001580   0.001712
M_grad   gradients                    0.003487   0.003159   0.003159   0.003423
M_opt    master                       0.003487   0.003159   0.003159   0.003423
         moment m                     0.003487   0.003159   0.003159   0.003423
         moment v                     0.003487   0.003159   0.003159   0.003423
M_act    activations                  0.004213   0.003717   0.001085   0.000559
         activation gradients         0.000066   0.000066   0.000066   0.000066
work     scratch of one call          0.033718   0.033718   0.033718   0.033718
comm     gradients on the wire        0.000000   0.000000   0.000000   0.000000
data     micro-batches                0.000008   0.000004   0.000004   0.000004
control  what changes between steps   0.000000   0.000000   0.000000   0.000000
packing  gaps at the peak             0.000001   0.000001   0.000001   0.000001
         arena                        0.053696   0.051721   0.049090   0.049752
host     pinned                       0.000009   0.000009   0.000009   0.000009
outside  context, modules             0.629146   0.629146   0.629146   0.629146
         NCCL's buffers               1.711276   1.711276   1.711276   1.711276
         library workspaces           0.000000   0.000000   0.000000   0.000000
budget   of a rank                   83.129428  83.129428  83.129428  83.129428
parameters: 6,400,512 x bf16
gradients: fp32; 8 passes
master: fp32: the optimizer's own copy
moment m: fp32
moment v: fp32
activations: bf16, recompute none
micro-batches: steps staged: 2
gaps at the peak: peak / most alive = 1.0000
arena: 53,695,744 bytes, one allocation
pinned: staged micro-batches
context, modules: 567 MB measured on an H100, rounded up
NCCL's buffers: 2 communicators by NCCL 2.30's sizes (--layouts)
library workspaces: none: they are operands in the arena
of a rank: h100-sxm, 2.34 GB outside the arena

checkpoint
size     76.9 MB in 8 parts, the largest 10.5 MB; 76.9 ms at 1.00 GB/s
                            (slurm.write)
every    30 minutes; cluster.mtbf = "200d", of a node, tells how often is best
job.lua:6:21: lint[few-layers]: 8 layers on 8 stages are fewer than four a
    stage: stages cannot be balanced, and each waits for its neighbours more
    than it computes
    6 |   parallel = { pp = 8 },
      |                     ^
        fix: pp = 2
job.lua:6:21: lint[bubble]: stages idle 46.7 % of a step: (pp-1) / (m + pp-1)
    with m = 8 micro-batches; the slowest stage waits 341 us of 824 us
    6 |   parallel = { pp = 8 },
      |                     ^
        fix: batch = "63 sequences"
    note: m = 28: at most 20 %; m = 63: at most 10 %
