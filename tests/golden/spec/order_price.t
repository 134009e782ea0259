-- RUN: explain job.lua -D parallel.order="dp cp pp tp" -D parallel.tp_across=true
return job {
  model = { "gpt2", layers = 4, width = 64, heads = 4, vocab = 64, positions = 16 },
  data = "synthetic",
  train = { batch = "8 sequences", steps = 10, microbatch = 1 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "frontier-like", nodes = 2 },
  parallel = { tp = 2, pp = 2 },
}
-- >>> exit 0
model    gpt2               205,184 parameters   1.23 MFLOP/token
batch    8 sequences        = dp 4 x microbatch 1 x accumulation 2
ranks    16                 = tp 2 x cp 1 x pp 2 x dp 4   zero 1   sequence
passes   1f1b               recompute none   precision bf16
cluster  frontier-like      16 x mi250x, 1 thread a rank
place    order dp cp pp tp, as asked: 7.20 us of communication a step, 1.71
                            times the 4.21 us of tp cp dp pp
memory   34.2 MB to 34.2 MB of 67.4 GB a rank (0 %); packing 0.0 % above bound
time     10.6 us            a step at peak rates   12,030,075 tokens/s
floor    3.77 us            no program takes less: bytes over the network
parts    compute 12 %, exposed dp 28 %, pp 0.1 %, tp 28 %, bubble 19 %, other
                            lanes 13 %
mfu      0.5 %              of the peak, if all runs at it
proof    ok                 16 ranks, 2 classes, 5 communicators, 2006 accesses
run      10 steps           of 128 = 1,280 tokens   at least 37.7 us
cost     at least 1.68e-07 GPU-hours, 2.09e-08 node-hours

memory of one rank at the peak of a step, GB = 1e9 bytes
                                       stage 0    stage 1
M_model  parameters                   0.000109   0.000107  205,184 x bf16
M_grad   gradients                    0.000217   0.000214  fp32; 2 passes
M_opt    master                       0.000054   0.000054
         moment m                     0.000054   0.000054  fp32; 1/4 (zero 1)
         moment v                     0.000054   0.000054  fp32; 1/4 (zero 1)
M_act    activations                  0.000019   0.000019  bf16, recompute none
         activation gradients         0.000002   0.000003
work     scratch of one call          0.033561   0.033561
comm     gradients on the wire        0.000102   0.000102
data     micro-batches                0.000000   0.000000  steps staged: 2
control  what changes between steps   0.000000   0.000000
packing  gaps at the peak             0.000001   0.000001
         arena                        0.034174   0.034168
host     pinned                       0.000001   0.000001  staged micro-batches
nccl     buffers, estimated           4.026532   4.026532
budget   of a rank                   67.412103  67.412103
master: fp32: the optimizer's own copy; 1/4 (zero 1)
gaps at the peak: peak / most alive = 1.0000
arena: 34,173,952 bytes, one allocation
buffers, estimated: 6 communicators (--layouts), outside the arena
of a rank: mi250x, 1.20 GB outside the arena

checkpoint
size     2.68 MB in 16 parts, the largest 183 kB; 2.68 ms at 1.00 GB/s
                            (slurm.write)
every    30 minutes; cluster.mtbf = "200d", of a node, tells how often is best
job.lua:7:29: lint[bubble]: stages idle 33.3 % of a step: (pp-1) / (m + pp-1)
    with m = 2 micro-batches
    7 |   parallel = { tp = 2, pp = 2 },
      |                             ^
        fix: batch = "16 sequences"
    note: m = 4: at most 20 %; m = 9: at most 10 %
