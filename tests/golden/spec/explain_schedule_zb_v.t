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
0             6       34.5 MB         329 us  1+begin | 1+end
1             6       18.1 MB         150 us  1 | 1
2             6       18.1 MB         150 us  1 | 1
stage 0 computes 57.1 % longer than the mean: the input side (begin) is 21 % of
    its work, and the head (end) is 33 % of its work

train step: 2.43 ms on 3 stages, idle 40.1 %
  stage 0 01223400aaA11bBB22ccCC5aA33ddDDbBB44eEEcCC55ffFFdDDeEEfFFuuuuuuuuuuuuu
       pp .------..-....-....-.----...-.--.....----....---.-.--.................
  stage 1 .0...03...a2...B4a...3cC5b....4d.....cC5e.....dfeDfEF......uu.........
       pp .------..--...--...-.---~...-.---....-----...--------.................
  stage 2 ..00122....a3a3.b4bB.....c5..cC.dDd......ee.....ffDFF......uu.........
       pp ..---.-...-....--..--...~-..--.--.....----.....--.-...................
  0-9 forward  a-j backward  A-J weights  ~ communication  u update  . idle
  under each: its lanes beside computation, - less than half of a column
