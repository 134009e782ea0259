-- RUN: compile job.lua --no-data
-- A tray of the first rack is missing: the domain that begins there has none of the next rack's.
return job {
  model = { "gpt2", layers = 4, width = 64, heads = 8, vocab = 64, positions = 16 },
  data = "synthetic",
  train = { batch = "8 sequences", steps = 10, microbatch = 1 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = "./c.lua",
  parallel = { tp = 8 },
}
-- FILE: c.lua
return { "gb200-nvl72", block = 2, switches = "./racks.conf" }
-- FILE: racks.conf
BlockName=r1 Nodes=a1
BlockName=r2 Nodes=b[1-2]
BlockName=r3 Nodes=c2
-- >>> exit 1
job.lua:8:21: error[tp-across-domains]: tp 8 reaches over links that are slower
    than those of a domain, which joins 4 ranks
    8 |   parallel = { tp = 8 },
      |                     ^
        fix: tp = 4
    note: drained = "a1,c2" leaves out nodes that are too many for whole groups
    note: parallel.tp_across = true allows it
