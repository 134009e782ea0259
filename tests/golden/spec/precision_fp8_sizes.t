-- RUN: explain job.lua
return job {
  model     = { "gpt2", layers = 1, width = 40, heads = 2, vocab = 64, positions = 16 },
  data      = "synthetic",
  train     = { batch = "1 sequences", steps = 2 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = { "bf16", linear = "fp8" },
  cluster   = { "here", device = "h100-sxm" },
}
-- >>> exit 0
model    gpt2               23,000 parameters   134 kFLOP/token
batch    1 sequence         = dp 1 x microbatch 1 x accumulation 1
ranks    1                  = tp 1 x cp 1 x pp 1 x dp 1   zero 0
passes   one stage          recompute none   precision bf16
cluster  here               1 x h100-sxm, 1 thread a rank
linear   fp8                in stacks; one scale a tensor
         h.*.attn.c_attn    stays in bf16: a size is no multiple of 16
         h.*.attn.c_proj    stays in bf16: a size is no multiple of 16
         h.*.mlp.c_fc       stays in bf16: a size is no multiple of 16
         h.*.mlp.c_proj     stays in bf16: a size is no multiple of 16
memory   34.0 MB            of 84.3 GB a rank (0 %); packing 0.0 % above bound
time     345 ns             a step at peak rates   46,376,811 tokens/s
floor    206 ns             no program takes less: memory traffic of the update
parts    compute 100 %
mfu      0.6 %              of the peak, if all runs at it
proof    ok                 1 rank, 1 class, 0 communicators, 368 accesses
run      2 steps            of 16 = 32 tokens   at least 412 ns
cost     at least 1.14e-10 GPU-hours, 1.14e-10 node-hours

memory of one rank at the peak of a step, GB = 1e9 bytes
M_model  parameters                   0.000047  23,000 x bf16
M_grad   gradients                    0.000093  fp32; 1 pass
M_opt    master                       0.000093  fp32: the optimizer's own copy
         moment m                     0.000093  fp32
         moment v                     0.000093  fp32
M_act    activations                  0.000021  bf16, recompute none
         codes of activations         0.000000  fp8; one scale a tensor
         activation gradients         0.000003
work     scratch of one call          0.033561
comm     gradients on the wire        0.000000
data     micro-batches                0.000000  steps staged: 2
control  what changes between steps   0.000000
packing  gaps at the peak             0.000001  peak / most alive = 1.0000
         arena                        0.034005  34,005,248 bytes, one allocation
host     pinned                       0.000001  staged micro-batches
budget   of a rank                   84.269849
of a rank: h100-sxm, 1.20 GB outside the arena

checkpoint
size     288 kB in 1 part, the largest 288 kB; 288 us at 1.00 GB/s (slurm.write)
every    30 minutes; cluster.mtbf = "200d", of a node, tells how often is best
states   18.23 bytes a parameter; a rank is 729.85 times its parameters' bytes
