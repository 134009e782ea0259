-- RUN: explain job.lua --schedule
return job {
  model     = "./m.lua",
  data      = "synthetic",
  train     = { batch = "6 samples", microbatch = 1, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  parallel  = { pp = 3 },
  cluster   = { "here", devices = 3, cores = 3 },
}
-- FILE: m.lua
-- Layers that begin at the inputs: a stage in front of them would wait for a gradient that nobody makes.
return model {
  sizes = { width = 8, layers = 2 },
  forward = function(m)
    local x, y = input("x", { "batch", "width" }), input("y", { "batch", "width" })
    return mse(stack("h", m.layers, x, function(x) return x + relu(linear("a", x, "width")) end), y)
  end,
}
-- >>> exit 0
1f1b, 3 stages, 6 micro-batches: a stage is idle 25.0 % of the time
micro-batches for a smaller bubble: 18 for at most 10 %, 38 for at most 5 %
stage in flight  act. at most  a micro-batch  layers
0             3         272 B       256 FLOP  1+begin
1             2         192 B       384 FLOP  1
2             1          80 B         0 FLOP  0+end
stage 1 computes 80.0 % longer than the mean: it has 1 of 2 layers

train step: 2.56 kFLOP on 3 stages, idle 50.0 % (no predicted times)
  stage 0 001122....aa33..bb44..cc55..dd....ee..ff
  stage 1 ..0011aaaa22bbbb33cccc44dddd55eeeeffff..
  stage 2 ........................................
  0-9 forward  a-j backward  . idle
job.lua:6:22: lint[bubble]: stages idle 25.0 % of a step: (pp-1) / (m + pp-1)
    with m = 6 micro-batches
    6 |   parallel  = { pp = 3 },
      |                      ^
        fix: batch = "18 samples"
    note: m = 8: at most 20 %; m = 18: at most 10 %
job.lua:6:22: lint[imbalance]: the heaviest stage has 50 % more work than the
    mean, and the others wait for it (`explain --schedule` says why)
    6 |   parallel  = { pp = 3 },
      |                      ^
