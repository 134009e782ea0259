-- RUN: explain job.lua --layouts --json
return job {
  model = { "gpt2", layers = 2, width = 32, heads = 4, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  parallel = { tp = 2, pp = 2, sequence = false },
  cluster = { "here", devices = 4 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 0
{"version":1,"classes":["stage 0","stage 1"],
 "communications":[
  {"over":"tp","ranks":2,"lane":"compute","in":"begin forward","kind":"all_reduce","value":"wte.embedding","before":"Partial(sum)@tp","after":"Replicated@tp","whole_bytes":8192,"sent_bytes":8192,"times":[4,0]},
  {"over":"tp","ranks":2,"lane":"compute","in":"h forward","kind":"all_reduce","value":"h.*.attn.c_proj","before":"Partial(sum)@tp","after":"Replicated@tp","whole_bytes":8192,"sent_bytes":8192,"times":[4,4]},
  {"over":"tp","ranks":2,"lane":"compute","in":"h forward","kind":"all_reduce","value":"h.*.mlp.c_proj","before":"Partial(sum)@tp","after":"Replicated@tp","whole_bytes":8192,"sent_bytes":8192,"times":[4,4]},
  {"over":"tp","ranks":2,"lane":"compute","in":"h backward","kind":"all_reduce","value":"d_h.*.ln_2","before":"Partial(sum)@tp","after":"Replicated@tp","whole_bytes":8192,"sent_bytes":8192,"times":[4,4]},
  {"over":"tp","ranks":2,"lane":"compute","in":"h backward","kind":"all_reduce","value":"d_h.*.ln_1","before":"Partial(sum)@tp","after":"Replicated@tp","whole_bytes":8192,"sent_bytes":8192,"times":[4,4]},
  {"over":"tp","ranks":2,"lane":"compute","in":"end forward","kind":"all_gather","value":"cross_entropy.stats","before":"Shard(statistics)@tp","after":"Replicated@tp","whole_bytes":3072,"sent_bytes":1536,"times":[0,4]},
  {"over":"tp","ranks":2,"lane":"compute","in":"end backward","kind":"all_reduce","value":"d_ln_f","before":"Partial(sum)@tp","after":"Replicated@tp","whole_bytes":8192,"sent_bytes":8192,"times":[0,4]},
  {"over":"pp","ranks":2,"lane":"pp","in":"tied wte.weight.join first","kind":"exchange","value":"tied wte.weight gradients","before":"Partial(sum)@pp","after":"Replicated@pp","whole_bytes":16384,"sent_bytes":16384,"times":[1,0]},
  {"over":"pp","ranks":2,"lane":"pp","in":"tied wte.weight.join last","kind":"exchange","value":"tied wte.weight gradients","before":"Partial(sum)@pp","after":"Replicated@pp","whole_bytes":16384,"sent_bytes":16384,"times":[0,1]},
  {"over":"pp+tp","ranks":4,"lane":"compute","in":"control","kind":"all_reduce","value":"loss, weights and requests","before":"Partial(sum)@pp,tp","after":"Replicated@pp,tp","whole_bytes":32,"sent_bytes":48,"times":[1,1]},
  {"over":"pp","ranks":2,"lane":"pp","in":"between stages","kind":"exchange","value":"carried between stages","before":"Replicated@pp","after":"Replicated@pp","whole_bytes":8192,"sent_bytes":8192,"times":[4,4]},
  {"over":"pp","ranks":2,"lane":"compute","in":"clip","kind":"all_reduce","value":"squares of gradients","before":"Partial(sum)@pp","after":"Replicated@pp","whole_bytes":24,"sent_bytes":24,"times":[1,1]},
  {"over":"tp","ranks":2,"lane":"compute","in":"clip","kind":"all_reduce","value":"squares of gradients","before":"Partial(sum)@tp","after":"Replicated@tp","whole_bytes":8,"sent_bytes":8,"times":[1,1]}],
 "step":[
  {"over":"tp","ranks":2,"sent_bytes":169992,"flat_calls":25},
  {"over":"pp","ranks":2,"sent_bytes":49176,"flat_calls":11},
  {"over":"pp+tp","ranks":4,"sent_bytes":48,"flat_calls":1}]}
job.lua:5:29: lint[bubble]: stages idle 20.0 % of a step: (pp-1) / (m + pp-1)
    with m = 4 micro-batches
    5 |   parallel = { tp = 2, pp = 2, sequence = false },
      |                             ^
        fix: batch = "18 sequences"
    note: m = 4: at most 20 %; m = 9: at most 10 %
