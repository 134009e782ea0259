return job {
  model = { "gpt2", layers = 4, width = 32, heads = 4, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "64 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "here", devices = 8 },
  parallel = { cp_kind = "ring", pipeline = "1f1b", stages = { 4 }, sequence = false, regather = false },
}
-- >>> exit 1
job.lua:7:26: error[conflict]: parallel.cp_kind is for cp above 1; cp is 1
    7 |   parallel = { cp_kind = "ring", pipeline = "1f1b", stages = { 4 }, sequence = false, rega
      |                          ^~~~~~
        fix: remove cp_kind
job.lua:7:45: error[conflict]: parallel.pipeline is for pp above 1; pp is 1
    7 |   parallel = { cp_kind = "ring", pipeline = "1f1b", stages = { 4 }, sequence = false, rega
      |                                             ^~~~~~
        fix: remove pipeline
job.lua:7:62: error[conflict]: parallel.stages is for pp above 1; pp is 1
    7 |  = "ring", pipeline = "1f1b", stages = { 4 }, sequence = false, regather = false },
      |                                        ^
        fix: remove stages
job.lua:7:80: error[conflict]: parallel.sequence is for tp above 1; tp is 1
    7 | e = "1f1b", stages = { 4 }, sequence = false, regather = false },
      |                                        ^~~~~
        fix: remove sequence
job.lua:7:98: error[conflict]: parallel.regather is for tp above 1; tp is 1
    7 |  = { 4 }, sequence = false, regather = false },
      |                                        ^~~~~
        fix: remove regather
5 errors
