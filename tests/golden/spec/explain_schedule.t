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
0             3       17.9 MB         219 us  2+begin
1             2       25.5 MB         225 us  3
2             1       58.4 MB         185 us  1+end
stage 1 computes 7.2 % longer than the mean: it has 3 of 6 layers

train step: 1.82 ms on 3 stages, idle 20.0 %
  stage 0 00011222.......aaaAA33bbbBBBB44cccCCC555ddDDDD..eeEEEEffFFFFuuuuuuuuuu
       pp ..-..--.--....--.....--.......--......---......-.....-................
  stage 1 ...000111..aaaa222bbbbA333ccccBB444ddddCC555eeeDDDfffEEFFF...uuuu.....
       pp ..-..--.----..--.-...--...-...--..--..---..--..--....-................
  stage 2 ......000aa11bb...222ccA...33ddBBB.444eeCCC.555ffDDEEEFFFu...uuuuuuuu.
       pp .....--.----.....-....-...-....-..--...--..--...-.....................
  0-9 forward  a-j backward  A-J weights  ~ communication  u update  . idle
  under each: its lanes beside computation, - less than half of a column
