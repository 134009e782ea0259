-- RUN: explain job.lua --rank 1
return job {
  model     = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 64, positions = 16 },
  data      = "synthetic",
  train     = { batch = "8 sequences", microbatch = 1, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  parallel  = { tp = 2, cp = 2, zero = 3, zero_group = 4 },
  cluster   = { "here", devices = 16, cores = 16 },
}
-- >>> exit 0
rank     1 of 16
node     0 of 1, here
device   the node's processor
cores    1
is       tp 1 of 2, cp 0 of 2, pp 0 of 1, dp 0 of 4
layers   begin, h 0-1, end
memory   196 kB: parameters 32.3 kB, gradients 77.8 kB, master 16.4 kB, moment m
           16.4 kB, moment v 16.4 kB, activations 4.93 kB, activation gradients
           512 B, scratch of one call 19.2 kB, gradients on the wire 7.17 kB,
           micro-batches 512 B, what changes between steps 312 B

talks along    with ranks          over                 GB/s one way sent a step
tp             0-1                 the node's links                ?    28.9 kB
cp             1 3                 the node's links                ?    8.19 kB
dp+cp          1 3 5 7             the node's links                ?     121 kB
dp_replicate   1 9                 the node's links                ?    16.1 kB
dp_replicate+dp+cp+tp
               0-15                the node's links                ?       60 B

no rate between ranks is known, so no order is better than another: the usual
    one is kept (cluster.intra and cluster.inter set the rates)
