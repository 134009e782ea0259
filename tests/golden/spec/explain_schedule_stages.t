-- RUN: explain job.lua --schedule 2>/dev/null | head -9
return job {
  model = { "llama", layers = 8, width = 512, heads = 8, kv_heads = 4, ffn = 1024, vocab = 512 },
  data = "synthetic",
  train = { batch = "8 sequences", context = 256, microbatch = 1, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "dgx-h100", devices = 4 },
  parallel = { pp = 4, stages = { 2, 3, 2, 1 } },
}
-- >>> exit 0
1f1b, 4 stages, 8 micro-batches: a stage is idle 27.3 % of the time
micro-batches for a smaller bubble: 27 for at most 10 %, 57 for at most 5 %
stage in flight  act. at most  a micro-batch  layers
0             4       23.7 MB         154 us  2+begin
1             3       26.6 MB         225 us  3
2             2       12.1 MB         150 us  2
3             1       3.94 MB        86.5 us  1+end
stage 1 computes 46.2 % longer than the mean: it has 3 of 8 layers

