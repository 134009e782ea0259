-- RUN: explain job.lua | grep -E "^(memory|time|proof|M_opt|host|node|states)|moment|master|arena"
return job {
  model = "llama2-7b",
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 1, context = 4096, steps = 1 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = "bf16",
  cluster = { "dgx-h100", devices = 1 },
  offload = "cpu",
}
-- >>> exit 0
job.lua:4:49: lint[small-microbatch]: a rank uses 65 % of its memory, and
    larger micro-batches fit: train.microbatch = 2 takes 110 ms less of 2.60 s a
    step
    4 |   train = { batch = "8 sequences", microbatch = 1, context = 4096, steps = 1 },
      |                                                 ^
        fix: microbatch = 2
memory   55.2 GB            of 84.8 GB a rank (65 %); packing 0.0 % above bound
time     2.6 s              a step, expected   12,612 tokens/s
proof    ok                 1 rank, 1 class, 0 communicators, 25947 accesses
memory of one rank at the peak of a step, GB = 1e9 bytes
M_opt    master                       0.000000  in host memory
         moment m                     0.000000  in host memory
         moment v                     0.000000  in host memory
         arena                       55.239847
host     parameters                   0.404767  on their way back
         master                      26.953662
         moment m                    26.953662
         moment v                    26.953662
         arena in host memory       189.080929  pinned
node     189 GB of host memory for 1 rank; 1.98 TB may be used
arena: 55,239,846,912 bytes, one allocation
library workspaces: none: they are operands in the arena
of a rank: h100-sxm, 629 MB outside the arena
states   6.00 bytes a parameter; a rank is 4.10 times its parameters' bytes
