-- RUN: explain job.lua --json 2>/dev/null | grep -oE '"(name|bubble|imbalance|microbatch_ns)":[^,]+'
return job {
  model = { "llama", layers = 8, width = 512, heads = 8, kv_heads = 4, ffn = 1024, vocab = 512 },
  data = "synthetic",
  train = { batch = "8 sequences", context = 256, microbatch = 1, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "dgx-h100", devices = 4 },
  parallel = { pp = 4, stages = { 2, 3, 2, 1 } },
}
-- >>> exit 0
"bubble":0.272727
"imbalance":0.461532
"name":"stage 0"
"microbatch_ns":154270
"name":"stage 1"
"microbatch_ns":224945
"name":"stage 2"
"microbatch_ns":149963
"name":"stage 3"
"microbatch_ns":86463
