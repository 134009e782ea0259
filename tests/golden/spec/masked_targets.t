-- RUN: explain job.lua --layouts --no-data
return job {
  model = "./classes.lua",
  data = { "table", train = "t.csv", columns = { x = { "a", "b" }, y = "c" } },
  train = { batch = "8 samples", microbatch = 2, steps = 5 },
  cluster = { "here", devices = 2 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- FILE: classes.lua
return model {
  sizes = { inputs = 2, classes = 3 },
  forward = function(m)
    local x, y = input("x", { "batch", "inputs" }), input("y", { "batch" }, "ids")
    return cross_entropy(linear("w", x, "classes"), y)
  end,
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

begin gather, over dp: 2 ranks, beside compute
 parameters      Shard(flat)  > Replicated  all-gather       128 B     1    64 B

begin reduce, over dp: 2 ranks, beside compute
 gradients       Partial(sum) > Shard(flat) reduce-scatter   256 B     1   128 B

targets, over dp: 2 ranks
 targets that count
                 Partial(sum) > Replicated  all-reduce         8 B     1     8 B

control, over dp: 2 ranks
 loss, weights and requests
                 Partial(sum) > Replicated  all-reduce        32 B     1    32 B

clip, over dp: 2 ranks
 squares of gradients
                 Partial(sum) > Replicated  all-reduce        24 B     1    24 B

sent by one rank in a step                              NCCL calls
 over dp                           2 ranks     256 B                5
