-- RUN: compile job.lua --no-data
-- A group of two trays has no room in what is left of the first and the third rack.
return job {
  model = { "gpt2", layers = 4, width = 64, heads = 8, vocab = 64, positions = 16 },
  data = "synthetic",
  train = { batch = "10 sequences", steps = 10, microbatch = 1 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = "./c.lua",
  parallel = { tp = 8 },
}
-- FILE: c.lua
return { "gb200-nvl72", block = 4, switches = "./racks.conf" }
-- FILE: racks.conf
BlockName=r1 Nodes=a[1-3]
BlockName=r2 Nodes=b[1-4]
BlockName=r3 Nodes=c[1-3]
-- >>> exit 1
job.lua:8:21: error[tp-across-domains]: tp 8 reaches over links that are slower
    than those of a domain, which joins 12 ranks
    8 |   parallel = { tp = 8 },
      |                     ^
        fix: tp = 4
    note: drained = "a3,c3" leaves out nodes that are too many for whole groups
    note: parallel.tp_across = true allows it
