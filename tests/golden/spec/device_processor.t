-- RUN: explain job.lua --schedule
return job {
  model = { "gpt2", layers = 2, width = 64, heads = 4, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", steps = 1 },
  optimizer = { "adamw", lr = 1e-3 },
  parallel = { pp = 2 },
  cluster = { "cpu-node", nodes = 2, device = "./core.lua" },
}
-- FILE: core.lua
return { cores = 4, fp32 = "100GFLOP/s", bf16 = "200GFLOP/s", bandwidth = "20GB/s" }
-- >>> exit 0
1f1b, 2 stages, 8 micro-batches: a stage is idle 11.1 % of the time
micro-batches for a smaller bubble: 9 for at most 10 %, 19 for at most 5 %
stage in flight  act. at most  a micro-batch  layers
0             2        283 kB        35.4 us  1+begin
1             1        191 kB        41.1 us  1+end
stage 1 computes 7.5 % longer than the mean: the head (end) is 22 % of its work

train step: 407 us on 2 stages, idle 17.7 %
  stage 0 0011.....aaaa22.bbbb33..cccc44.dddd55.eeee66.ffff77.gggg...hhhhh.uuuuu
       pp ..-.-....-......-......-......-......-......--......-......-...-~.....
  stage 1 ..000aaaa111bbbb222cccc333ddddd44eeeee55fffff666gggg777hhhh......uuuuu
       pp ..-.-....-......-......-......-......-......--......-......-...-~.....
  0-9 forward  a-j backward  ~ communication  u update  . idle
  under each: its lanes beside computation, - less than half of a column
job.lua:6:21: lint[bubble]: stages idle 11.1 % of a step: (pp-1) / (m + pp-1)
    with m = 8 micro-batches; the slowest stage waits 80.6 us of 407 us
    6 |   parallel = { pp = 2 },
      |                     ^
        fix: batch = "9 sequences"
    note: m = 4: at most 20 %; m = 9: at most 10 %
