-- RUN: explain job.lua
return job {
  model     = { "gpt2", layers = 1, width = 128, heads = 2, vocab = 64, positions = 128 },
  data      = "synthetic",
  train     = { batch = "1 sequences", steps = 2 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = { "bf16", linear = { "fp8", scaling = "block" } },
  parallel  = { tp = 2 },
  cluster   = { "here", devices = 2, device = "h100-sxm" },
}
-- >>> exit 0
model    gpt2               223,104 parameters   1.33 MFLOP/token
batch    1 sequence         = dp 1 x microbatch 1 x accumulation 1
ranks    2                  = tp 2 x cp 1 x pp 1 x dp 1   zero 0   sequence
passes   one stage          recompute none   precision bf16
cluster  here               2 x h100-sxm, 1 thread a rank
linear   fp8                in stacks; scales of 1 x 128, of weights 128 x 128
         h.*.attn.c_attn    stays in bf16: a size is no multiple of 128
         h.*.attn.c_proj    stays in bf16: a size is no multiple of 128
memory   36.2 MB            of 84.3 GB a rank (0 %); packing 0.0 % above bound
time     2.53 us            a step at peak rates   50,513,022 tokens/s
floor    1.08 us            no program takes less: memory traffic of the update
parts    compute 100 %
mfu      3.4 %              of the peak, if all runs at it
proof    ok                 2 ranks, 1 class, 1 communicator, 479 accesses
run      2 steps            of 128 = 256 tokens   at least 2.15 us
cost     at least 1.2e-09 GPU-hours, 5.98e-10 node-hours

memory of one rank at the peak of a step, GB = 1e9 bytes
M_model  parameters                   0.000241  223,104 x bf16
M_grad   gradients                    0.000481  fp32; 1 pass
M_opt    master                       0.000481  fp32: the optimizer's own copy
         moment m                     0.000481  fp32
         moment v                     0.000481  fp32
M_act    activations                  0.000297  bf16, recompute none
         codes of activations         0.000000  fp8; scales of 1 x 128
         activation gradients         0.000033
work     scratch of one call          0.033736
comm     gradients on the wire        0.000000
data     micro-batches                0.000002  steps staged: 2
control  what changes between steps   0.000000
packing  gaps at the peak             0.000001  peak / most alive = 1.0000
         arena                        0.036234  36,234,240 bytes, one allocation
host     pinned                       0.000003  staged micro-batches
nccl     buffers, estimated           0.905970
budget   of a rank                   84.269849
buffers, estimated: 1 communicator (--layouts), outside the arena
of a rank: h100-sxm, 1.20 GB outside the arena

checkpoint
size     2.70 MB in 2 parts, the largest 1.46 MB; 2.70 ms at 1.00 GB/s
                            (slurm.write)
every    30 minutes; cluster.mtbf = "200d", of a node, tells how often is best
