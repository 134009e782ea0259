-- RUN: explain job.lua --schedule 2>/dev/null
return job {
  model = { "llama", layers = 6, width = 512, heads = 8, kv_heads = 4, ffn = 1024, vocab = 32000 },
  data = "synthetic",
  train = { batch = "6 sequences", context = 256, microbatch = 1, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  memory = { recompute = "none" },
  cluster = { "dgx-h100", devices = 3 },
  parallel = { pp = 3, pipeline = "zb-v" },
}
-- >>> exit 0
zb-v, 3 stages, 6 micro-batches: a stage is idle 5.3 % of the time
micro-batches for a smaller bubble: 7 for at most 5 %
stage in flight  act. at most  a micro-batch  layers, by chunk
0             6       40.8 MB         160 us  1+begin | 1+end
1             6       24.4 MB        34.0 us  1 | 1
2             6       24.4 MB        34.0 us  1 | 1
stage 0 computes 110.7 % longer than the mean: the input side (begin) is 29 % of
    its work, and the head (end) is 50 % of its work

train step: 1.35 ms on 3 stages, idle 54.0 %
  stage 0 02340aAA1bBBB22cCC5AA3dDDDBBB4eEEECCC5fFFFDDDEEFFFuuuuuuuuuuuuuuuuuuuu
       pp ----..-...-....-..--...-.--....-.-.....-.--..-........................
  stage 1 ...........a......C.......................DF........uuu...............
       pp ----..-...-....-..--...-.--....-.--....-.--..-........................
  stage 2 .02....a...B....B...c......D......e.......DE........uuu...............
       pp .---..-...--...-...-...-..-......--......--...........................
  0-9 forward  a-j backward  A-J weights  ~ communication  u update  . idle
  under each: its lanes beside computation, - less than half of a column
