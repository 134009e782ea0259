return job {
  model = { "gpt2", layers = 4, width = 32, heads = 4, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "64 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "here", devices = 8 },
  parallel = { tp = 0, cp = 1.5, pp = "two", sequence = "none" },
}
-- >>> exit 1
job.lua:7:21: error[range]: parallel.tp is 1 to 1048576; got 0
    7 |   parallel = { tp = 0, cp = 1.5, pp = "two", sequence = "none" },
      |                     ^
job.lua:7:29: error[wrong-type]: parallel.cp: expected a whole number such as 8,
    2^19 or "16Mi"; got 1.5
    7 |   parallel = { tp = 0, cp = 1.5, pp = "two", sequence = "none" },
      |                             ^~~
job.lua:7:39: error[wrong-type]: parallel.pp: expected a whole number such as 8,
    2^19 or "16Mi"; got "two"
    7 |   parallel = { tp = 0, cp = 1.5, pp = "two", sequence = "none" },
      |                                       ^~~~~
job.lua:7:57: error[wrong-type]: parallel.sequence: expected true or false; got
    "none"
    7 |   parallel = { tp = 0, cp = 1.5, pp = "two", sequence = "none" },
      |                                                         ^~~~~~
        fix: sequence = false
4 errors
