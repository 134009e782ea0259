-- RUN: explain job.lua --against parallel.zero=0 --json
return job {
  model = { "gpt2", layers = 12, width = 1024, heads = 16, vocab = 4096, positions = 1024 },
  data = "synthetic",
  train = { batch = "8 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "dgx-h100", devices = 4 },
  parallel = { zero = 3 },
}
-- >>> exit 0
{"version":1,
 "job":{"ranks":4,"memory":{
   "parameters":128774144,
   "gradients":273946624,
   "master":156399616,
   "moment m":156399616,
   "moment v":156399616,
   "activations":370003968,
   "activation gradients":4194304,
   "scratch of one call":44041400,
   "gradients on the wire":12596224,
   "micro-batches":24576,
   "what changes between steps":104,
   "arena":1302780672,"budget":84269849190,"fits":true},
  "sent_bytes":1885504608,"predicted_step_ns":5604793,"tokens_per_s":1461606},
 "against":{"ranks":4,"memory":{
   "parameters":312799232,
   "gradients":625598464,
   "master":625598464,
   "moment m":625598464,
   "moment v":625598464,
   "activations":416231424,
   "activation gradients":2097152,
   "scratch of one call":35652792,
   "gradients on the wire":0,
   "micro-batches":24576,
   "what changes between steps":104,
   "arena":3275491072,"budget":84269849190,"fits":true},
  "sent_bytes":938397756,"predicted_step_ns":5862882,"tokens_per_s":1397265}}
