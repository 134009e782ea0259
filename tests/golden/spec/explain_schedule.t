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
zb-h1, 3 stages, 6 micro-batches: a stage is idle 10.0 % of the time
micro-batches for a smaller bubble: 13 for at most 5 %
stage in flight  act. at most  a micro-batch  layers
0             3       12.4 MB        63.0 us  1+begin
1             2       46.5 MB        68.6 us  4
2             1       61.5 MB        97.7 us  1+end
stage 2 computes 27.8 % longer than the mean: the head (end) is 82 % of its work

train step: 815 us on 3 stages, idle 23.8 %
  stage 0 0122......AA3.BBBB44cCCC55.DDDD....eEEEE...FFFFuu......uuuuuuuuuuuuuuu
       pp .--.-....-...--....--.....-........-......-...........................
  stage 1 .001...aaa2.bbA.33ccBB.44ddCC...5eeDDD..ffEEEFFu.......uuuuuuuu.......
       pp .--.-..-.-.-.-..-.--..-.-.-....-.-.-....-.-...........................
  stage 2 ...00aa111bb22ccAA333ddBBBB444eeCCCC55ffDDDDDEEEEFFFFuuuuuuuuuuuuuuuuu
       pp ..-.-..-...-....-.-...-.-......-.-......-.............................
  0-9 forward  a-j backward  A-J weights  ~ communication  u update  . idle
  under each: its lanes beside computation, - less than half of a column
