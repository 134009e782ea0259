-- RUN: tune job.lua --goal cheapest
return job {
  model     = { "llama", layers = 6, width = 256, heads = 8, kv_heads = 4, ffn = 512, vocab = 1024 },
  data      = "synthetic",
  train     = { batch = "64 sequences", context = 256, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster   = { "dgx-h100", nodes = 2, price = "$98/h" },
}
-- >>> exit 0
tune     llama on 8 x h100-sxm (dgx-h100), 64 sequences a step
looked   at 3,498 settings, 8 of them in full
left out          288  ranks, batch, layers or sequence do not divide so
                  456  another does the same work and keeps or sends less
                2,662  their computation alone takes longer than the best
                   84  forecast from their parts to take longer than the best
                    8  estimated in full: rows below, slower or too large ones

   tp cp pp    dp order           mb z  recompute           memory    step MFU
1   1  1  1     8 -                8 0  none                185 MB  779 us  7% *
2   1  1  1     8 -                8 0  selective           174 MB  808 us  6% *
3   1  1  1     8 -                8 2  none                131 MB  887 us  6% *
4   1  1  1     8 -                8 1  none                142 MB  890 us  6% *
5   1  1  2     4 interleaved x2   8 0  none                148 MB  981 us  5% *

rows     with * are compiled and proven, the others are estimated. Those
         after the first are the fastest others that were estimated
row 2    takes 0.02896 ms more than row 1: compute +0.02896
limits   forecasts of 8 compiled plans were 0.1 % too long
         not varied: offload, precision, loss_chunks, zero_unit, stages
proof    ok                 the first is compiled: 185 MB of 83.0 GB a rank

nodes    ranks        step         run  node-hours        cost
1            8      779 us     7.79 ms    2.16e-06   $0.000212   <- this goal's
2           16      660 us     6.60 ms    3.66e-06   $0.000359

1 fits?       weights, gradients and states are 73.2 MB, the memory of 1 device;
              all of it fits on one device: replicas alone (DDP)
2 fast links? 8 devices: tp 1
3 layers?     8, both ends of the model included: pp 1, 8 a stage
4 batches?    1 micro-batch of 8: stages idle 0.0 % of a step
5 the rest?   8 ranks / (tp 1 x cp 1 x pp 1) = dp 8, zero 0

to paste into the job:

  train    = { microbatch = 8 },
  parallel = { zero = 0 },
  memory   = { recompute = "none" },
  cluster  = { "dgx-h100", nodes = 1 },
