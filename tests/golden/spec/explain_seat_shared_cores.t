-- RUN: explain job.lua --rank 3
return job {
  model     = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 64, positions = 16 },
  data      = "synthetic",
  train     = { batch = "8 sequences", microbatch = 1, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster   = { "here", devices = 4, cores = 2 },
}
-- >>> exit 0
rank     3 of 4
node     0 of 1, here
device   the node's processor
cores    any of 2, which all ranks of the node share
is       tp 0 of 1, cp 0 of 1, pp 0 of 1, dp 3 of 4
layers   begin, h 0-1, end
memory   333 kB: parameters 58.9 kB, gradients 118 kB, master 29.7 kB, moment m
           29.7 kB, moment v 29.7 kB, activations 33.6 kB, activation gradients
           2.05 kB, scratch of one call 29.9 kB, micro-batches 640 B, what
           changes between steps 312 B

talks along    with ranks          over                 GB/s one way sent a step
dp             0-3                 the node's links                ?     133 kB

no rate between ranks is known, so no order is better than another: the usual
    one is kept (cluster.intra and cluster.inter set the rates)
