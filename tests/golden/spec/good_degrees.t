-- RUN: explain job.lua parallel --no-data
return job {
  model = { "gpt2", layers = 4, width = 32, heads = 4, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "64 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "here", devices = 8 },
  parallel = { tp = 2, cp = 2, pp = 2 },
}
-- >>> exit 0
parallel               none                    default
parallel.tp            2                       job: job.lua:7:21
parallel.cp            2                       job: job.lua:7:29
parallel.pp            2                       job: job.lua:7:37
parallel.dp            1                       derived: 8 ranks / (tp 2 x cp 2 x
                                               pp 2)
parallel.order         tp cp pp dp             derived: communicates for the
                                               least time
parallel.tp_across     false                   default
parallel.sequence      true                    derived: tp > 1
parallel.regather      false                   default
parallel.cp_kind       ring                    default
parallel.pipeline      1f1b                    default
parallel.stages        none                    derived: balanced
parallel.zero          1                       derived: dp 1 x cp 2 is above 1
parallel.shard         -                       derived: zero says it
parallel.zero_group    2                       derived: dp 1 x cp 2
parallel.zero_unit     layer                   default
parallel.zero_prefetch 1                       default
parallel.zero_reduce   micro                   default
parallel.zero_reshard  layer                   default
parallel.zero_keep     65.5 kB                 default
parallel.bucket        26.2 MB                 default
