-- RUN: explain job.lua --layouts
return job {
  model = { "gpt2", layers = 2, width = 64, heads = 2, vocab = 256, positions = 32 },
  data = "synthetic",
  train = { batch = "64 sequences", microbatch = 32, steps = 10 },
  optimizer = { "adamw", lr = 1e-4 },
  parallel = { tp = 2 },
  cluster = { "dgx-h100", devices = 2, intra_latency = "800ns" },
}
-- >>> exit 0
The layout of a value before and after each communication.
  whole  what the ranks hold together; of an all-to-all, one's part; of an
         exchange, what it sends
  times  in one step, micro-batches and layers of a stage included
  sent   by one rank in a step, as rings send
  d x    gradient of x
  NCCL calls  in a step: one for each run of memory that lies together

 value           before       > after       conversion       whole times    sent

begin forward, over tp: 2 ranks
 wte.embedding   Partial(sum) > Shard(seq)  reduce-scatter  131 kB     2  131 kB

begin backward, over tp: 2 ranks
 d h.*.input     Shard(seq)   > Replicated  all-gather      131 kB     2  131 kB

h forward, over tp: 2 ranks
 ln_1            Shard(seq)   > Replicated  all-gather      131 kB     4  262 kB
 attn.c_proj     Partial(sum) > Shard(seq)  reduce-scatter  131 kB     4  262 kB
 ln_2            Shard(seq)   > Replicated  all-gather      131 kB     4  262 kB
 mlp.c_proj      Partial(sum) > Shard(seq)  reduce-scatter  131 kB     4  262 kB
 sum                                                                  16 1.05 MB

h backward, over tp: 2 ranks
 d end.input     Shard(seq)   > Replicated  all-gather      131 kB     4  262 kB
 d ln_2          Partial(sum) > Shard(seq)  reduce-scatter  131 kB     4  262 kB
 d add           Shard(seq)   > Replicated  all-gather      131 kB     4  262 kB
 d ln_1          Partial(sum) > Shard(seq)  reduce-scatter  131 kB     4  262 kB
 sum                                                                  16 1.05 MB

end forward, over tp: 2 ranks
 ln_f            Shard(seq)   > Replicated  all-gather      131 kB     2  131 kB
 cross_entropy.stats
                 Shard(statistics) > Replicated all-gather 24.6 kB     2 24.6 kB
 sum                                                                   4  156 kB

end backward, over tp: 2 ranks
 d ln_f          Partial(sum) > Shard(seq)  reduce-scatter  131 kB     2  131 kB

begin reduce, over tp: 2 ranks
 wpe.weight      Partial(sum) > Replicated  all-reduce     8.19 kB     1 8.19 kB

h reduce, over tp: 2 ranks
 ln_1.weight     Partial(sum) > Replicated  all-reduce       256 B     2   512 B
 ln_1.bias       Partial(sum) > Replicated  all-reduce       256 B     2   512 B
 attn.c_proj.bias
                 Partial(sum) > Replicated  all-reduce       256 B     2   512 B
 ln_2.weight     Partial(sum) > Replicated  all-reduce       256 B     2   512 B
 ln_2.bias       Partial(sum) > Replicated  all-reduce       256 B     2   512 B
 mlp.c_proj.bias Partial(sum) > Replicated  all-reduce       256 B     2   512 B
 sum                                                                  12 3.07 kB

end reduce, over tp: 2 ranks
 ln_f.weight     Partial(sum) > Replicated  all-reduce       256 B     1   256 B
 ln_f.bias       Partial(sum) > Replicated  all-reduce       256 B     1   256 B
 sum                                                                   2   512 B

control, over tp: 2 ranks
 loss, weights and requests
                 Partial(sum) > Replicated  all-reduce        32 B     1    32 B

clip, over tp: 2 ranks
 squares of gradients
                 Partial(sum) > Replicated  all-reduce         8 B     1     8 B

sent by one rank in a step                              NCCL calls
 over tp                           2 ranks   2.66 MB               59
  at 360 GB/s and 0.8 us a message

NCCL's communicators, of each lane its own; buffers outside the arena are
estimated from NCCL 2.30's sizes, not measured
 over                 ranks  lane         used for                     buffers
 tp                       2  compute      gathers, sums                 906 MB
