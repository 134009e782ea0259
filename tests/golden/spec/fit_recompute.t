-- RUN: explain job.lua -D memory.recompute=none
return job {
  model = { "llama", layers = 16, width = 1024, heads = 16, kv_heads = 4, ffn = 4096, vocab = 256, positions = 2048 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 1, steps = 1 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = "bf16",
  cluster = { "dgx-h100", devices = 1 },
  memory = { budget = "5.4GB" },
}
-- >>> exit 1
model    llama              243,827,712 parameters   1.66 GFLOP/token
batch    8 sequences        = dp 1 x microbatch 1 x accumulation 8
ranks    1                  = tp 1 x cp 1 x pp 1 x dp 1   zero 0
passes   one stage          recompute none   precision bf16
cluster  dgx-h100           1 x h100-sxm, 1 thread a rank
memory   5.46 GB            of 5.40 GB a rank (101 %); packing 0.0 % above bound
time     73.5 ms            a step, expected   222,838 tokens/s
range    0.88 to 1.13       8 of 10 runs take from 64.7 ms to 83.1 ms
floor    27.5 ms            no program takes less: FLOPs at the device's peak
parts    compute 100 %
compute  products 53 %, attention 18 %, optimizer 3.8 %, memory-bound 24 %
bound    products: 53 % of the step
mfu      37.5 %             of the peak; HFU 38.2 %, with what is computed again
run      1 step             of 16,384 = 16,384 tokens   73.5 ms
cost     2.04e-05 GPU-hours (at least 7.65e-06), 2.04e-05 node-hours

memory of one rank at the peak of a step, GB = 1e9 bytes
M_model  parameters                   0.487655  243,827,712 x bf16
M_grad   gradients                    0.975311  fp32; 8 passes
M_opt    master                       0.975311  fp32: the optimizer's own copy
         moment m                     0.975311  fp32
         moment v                     0.975311  fp32
M_act    activations                  0.975438  bf16, recompute none
         activation gradients         0.008389
work     scratch of one call          0.083887
comm     gradients on the wire        0.000000
data     micro-batches                0.000147  steps staged: 2
control  what changes between steps   0.000000
packing  gaps at the peak             0.000000  peak / most alive = 1.0000
         arena                        5.456761
host     pinned                       0.000263  staged micro-batches
budget   of a rank                    5.400000  h100-sxm, by memory.budget
arena: 5,456,760,576 bytes, one allocation

checkpoint
size     2.93 GB in 1 part, the largest 2.93 GB; 2.9 s at 1.00 GB/s
                            (slurm.write)
every    30 minutes; cluster.mtbf = "200d", of a node, tells how often is best
states   18.00 bytes a parameter; a rank is 11.19 times its parameters' bytes
job.lua:8:23: error[does-not-fit]: a rank needs 5.46 GB, its budget is 5.40 GB
    (`lockstep explain` shows the table)
    8 |   memory = { budget = "5.4GB" },
      |                       ^~~~~~~
        fix: -D memory.recompute=selective
    note: with memory.recompute = "selective" it needs 5.33 GB: fits, a step of
    74.8 ms
