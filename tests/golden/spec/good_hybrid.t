-- RUN: explain job.lua parallel --no-data
return job {
  model = { "gpt2", layers = 4, width = 32, heads = 4, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "64 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "here", nodes = 2, devices = 4 },
  parallel = { cp = 2, shard = "hybrid" },
}
-- >>> exit 0
parallel               none                    default
parallel.tp            1                       default
parallel.cp            2                       job: job.lua:7:21
parallel.pp            1                       default
parallel.dp            4                       derived: 8 ranks / (tp 1 x cp 2 x
                                               pp 1)
parallel.order         tp cp pp dp             derived: communicates for the
                                               least time
parallel.tp_across     false                   default
parallel.sequence      false                   derived: tp is 1
parallel.regather      false                   default
parallel.cp_kind       ring                    default
parallel.pipeline      1f1b                    default
parallel.stages        none                    derived: pp is 1
parallel.zero          3                       derived: shard = "hybrid"
parallel.shard         hybrid                  job: job.lua:7:32
parallel.zero_group    node                    derived: shard = "hybrid"
parallel.zero_unit     layer                   default
parallel.zero_prefetch 1                       default
parallel.zero_reduce   micro                   default
parallel.zero_reshard  layer                   default
parallel.zero_keep     65.5 kB                 default
parallel.bucket        26.2 MB                 default
