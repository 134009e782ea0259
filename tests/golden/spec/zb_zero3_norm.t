-- RUN: explain job.lua --schedule
return job {
  model     = "./m.lua",
  data      = "synthetic",
  train     = { batch = "16 sequences", microbatch = 1, context = 16, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  parallel  = { pp = 2, zero = 3, zero_keep = "0B", pipeline = "zb-h1" },
  cluster   = { "here", devices = 4, cores = 4 },
}
-- FILE: m.lua
-- The norm after the embedding makes parameter gradients alone, and reads its weight, which zero 3 gathers.
return model {
  sizes = { width = 16, layers = 4, vocab = 64 },
  forward = function(m)
    local tokens, targets = input("tokens", { "batch", "seq" }, "ids"), input("targets", { "batch", "seq" }, "ids")
    local x = layernorm("n", embedding("wte", tokens, { "vocab", "width" }))
    x = stack("h", m.layers, x, function(x) return x + relu(linear("a", x, "width")) end)
    return cross_entropy(linear("head", x, "vocab"), targets)
  end,
}
-- >>> exit 0
zb-h1, 2 stages, 8 micro-batches: a stage is idle 4.0 % of the time
stage in flight  act. at most  a micro-batch  layers
0             2       8.45 kB     73.7 kFLOP  3+begin
1             1       6.66 kB      123 kFLOP  1+end
stage 1 computes 25.0 % longer than the mean: the head (end) is 80 % of its work

train step: 1.01 MFLOP on 2 stages, idle 22.0 % (no predicted times)
  stage 0 001....aaAA22bbBB3....cCC44...ddDD5....eEE66...ffFF7....gGG.....hhHH..
  stage 1 ..000aa111bbbAAA222cccBB333dddCCC444eeeDDD55fffEEE666gggFFF77hhhGGGHHH
  0-9 forward  a-j backward  A-J weights  . idle
job.lua:6:22: lint[imbalance]: the heaviest stage has 25 % more work than the
    mean, and the others wait for it (`explain --schedule` says why)
    6 |   parallel  = { pp = 2, zero = 3, zero_keep = "0B", pipeline = "zb-h1" },
      |                      ^
