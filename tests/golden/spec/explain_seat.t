-- RUN: explain job.lua --rank 5
return job {
  model = { "gpt2", layers = 4, width = 64, heads = 4, vocab = 64, positions = 16 },
  data = "synthetic",
  train = { batch = "8 sequences", steps = 10, microbatch = 1 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "frontier-like", nodes = 2 },
  parallel = { tp = 2, pp = 2 },
}
-- >>> exit 0
rank     5 of 16
node     0 of 2, frontier-like
device   GPU 5, mi250x, 0000:d6:00.0, NUMA node 0
cores    8-15,72-79
NIC      hsn2, PIX, 12.5 GB/s its share
is       tp 1 of 2, cp 0 of 1, pp 0 of 2, dp 2 of 4
layers   begin, h 0-1
memory   34.2 MB: parameters 109 kB, gradients 217 kB, master 54.3 kB, moment m
           54.3 kB, moment v 54.3 kB, activations 18.8 kB, activation gradients
           2.05 kB, scratch of one call 33.6 MB, gradients on the wire 102 kB,
           micro-batches 384 B, what changes between steps 104 B

talks along    with ranks          over                 GB/s one way sent a step
tp             4-5                 XGMI                        144.0    47.1 kB
dp             1 3 5 7             XGMI                         72.0     244 kB
pp             5 13                the network                  12.5    4.10 kB
dp+pp+tp       0-15                the network                 100.0       60 B
                                   a ring over 4 rails of a node
dp+pp          1 3 .. 15 (8)       the network                  50.0       42 B
                                   a ring over 4 rails of a node

why there: of 6 orders in which axes fill nodes, by the communication of a step,
    one after another, on the stage that has most
  tp cp dp pp         4.21 us     +0.0%   <- taken
  cp dp tp pp         4.21 us     +0.0%
  tp cp pp dp         10.5 us   +148.8%
  cp pp tp dp         10.5 us   +148.8%
  cp pp dp tp         7.20 us    +71.0%   tp leaves its fast links
  cp dp pp tp         7.20 us    +71.0%   tp leaves its fast links
tp cp pp dp on seats in the order of their devices: 15.8 us, 3.74 times as long
job.lua:7:29: lint[few-layers]: 4 layers on 2 stages are fewer than four a
    stage: stages cannot be balanced, and each waits for its neighbours more
    than it computes
    7 |   parallel = { tp = 2, pp = 2 },
      |                             ^
        fix: pp = 1
job.lua:7:29: lint[bubble]: stages idle 33.3 % of a step: (pp-1) / (m + pp-1)
    with m = 2 micro-batches; the slowest stage waits 210 us of 754 us
    7 |   parallel = { tp = 2, pp = 2 },
      |                             ^
        fix: batch = "36 sequences"
    note: m = 4: at most 20 %; m = 9: at most 10 %
