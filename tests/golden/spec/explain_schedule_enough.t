-- A small bubble is not talked about.
-- RUN: explain job.lua --schedule 2>/dev/null | head -5
return job {
  model = { "llama", layers = 64, width = 64, heads = 8, kv_heads = 4, ffn = 64, vocab = 16 },
  data = "synthetic",
  train = { batch = "40 sequences", context = 64, microbatch = 1, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "dgx-h100", devices = 2 },
  parallel = { pp = 2 },
}
-- >>> exit 0
1f1b, 2 stages, 40 micro-batches: a stage is idle 2.4 % of the time
stage in flight  act. at most  a micro-batch  layers
0             2       4.90 MB        1.87 ms  32+begin
1             1       2.47 MB        1.88 ms  32+end
stage 1 computes 0.2 % longer than the mean: the head (end) is 1 % of its work
