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
0             6       40.8 MB         337 us  1+begin | 1+end
1             6       24.4 MB         158 us  1 | 1
2             6       24.4 MB         158 us  1 | 1
stage 0 computes 55.0 % longer than the mean: the input side (begin) is 21 % of
    its work, and the head (end) is 33 % of its work

train step: 2.48 ms on 3 stages, idle 39.3 %
  stage 0 01223400aaA11bbB22ccCC5aA33ddDDbBB44eEEcCCC55fFFdDDeEEfFFuuuuuuuuuuuuu
       pp .------..--...-....---.--...---.-....----.....--.-..-.................
  stage 1 .0..2031..a2...b4a....cC5bB....dD.....c5eE....dfee.fF......uu.........
       pp .------..---..---..---.-~...---.-....-----....-----.-.................
  stage 2 ..00112....aAaA.3b4.bB4..c5cC....dd......ee......fDEE......uu.........
       pp ..---.-....-...---..-...--...-..--.....-.-......-.-...................
  0-9 forward  a-j backward  A-J weights  ~ communication  u update  . idle
  under each: its lanes beside computation, - less than half of a column
