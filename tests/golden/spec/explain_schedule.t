-- RUN: explain job.lua --schedule 2>/dev/null
return job {
  model = { "llama", layers = 6, width = 512, heads = 8, kv_heads = 4, ffn = 1024, vocab = 32000 },
  data = "synthetic",
  train = { batch = "6 sequences", context = 256, microbatch = 1, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  memory = { recompute = "none" },
  cluster = { "dgx-h100", devices = 3 },
  parallel = { pp = 3, pipeline = "zb-h1" },
}
-- >>> exit 0
zb-h1 over 3 stages, 6 micro-batches: a stage is idle 10.0 % of the time
micro-batches that make this bubble smaller: 13 for at most 5 %
stage  in flight  activations at most  a micro-batch   layers
0              3              12.4 MB      0.0634 ms   1+begin
1              2              46.5 MB      0.0702 ms   4
2              1              61.5 MB      0.0981 ms   1+end
stage 2 computes 27.0 % longer than the mean: the head (end) is 82 % of its work

train step: 0.814 ms on 3 stages, idle 23.6 %
  stage 0 00122.......aAAA3.bBBBBB44cCCCCC5..DDDDD......eEEEEE...fFFFFFuu........uuuuuuuuuuuuuuuuuuu
       pp .-.-.-......-....--......-........-..........-........--..................................
  stage 1 ..0011....aa22.bbbAA.33cccBBB.44dddCCC...55eeeDDD...fffEEEFFFu.........uuuuuuuuuu.........
       pp .-.-.-...-..-..-.--.-..-.-...-.-..-.....-.--.-......-.--..................................
  stage 2 ....000aa1111bb222cccAAA333dddBBBBB444eeeCCCCC5555ffDDDDDDEEEEEFFFFFFuuuuuuuuuuuuuuuuuuuuu
       pp ...-.-...-.....-....-..-.....-.-........-.--........-.....................................
  0-9 forward  a-j backward  A-J weights  ~ communication  u update  . idle
  under each: its lanes beside computation, - less than half of a column
