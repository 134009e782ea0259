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
0             3       12.4 MB        62.8 us  1+begin
1             2       46.5 MB        68.0 us  4
2             1       61.5 MB        97.5 us  1+end
stage 2 computes 28.1 % longer than the mean: the head (end) is 83 % of its work

train step: 814 us on 3 stages, idle 24.0 %
  stage 0 0122......AA3.BBBB44CCCC55.DDDD....eEEEE..fFFFFuu......uuuuuuuuuuuuuuu
       pp .--.-....-...-.....-......-........-......-...........................
  stage 1 .001...aa22.bbA.33ccBB.4dddCC...5eeDDD..ffEEEFFu.......uuuuuuuu.......
       pp .--.-..-.-.-.-.--.--..-.-.-....-.-.-....-.-...........................
  stage 2 ...00aa111bb22ccAA333ddBBBB444eCCCCC55ffDDDDDEEEEFFFFuuuuuuuuuuuuuuuuu
       pp ..-.-..-...-...--.-...-.-......-.-......-.............................
  0-9 forward  a-j backward  A-J weights  ~ communication  u update  . idle
  under each: its lanes beside computation, - less than half of a column
