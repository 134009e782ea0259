-- RUN: check job.lua -q --no-data -D cluster.memory=1050KiB -D memory.budget=100%
return job {
  model      = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 64, positions = 32 },
  data       = "synthetic",
  train      = { batch = "4 sequences", microbatch = 1, steps = 4000 },
  optimizer  = { "adamw", lr = 1e-3 },
  precision  = "fp32",
  cluster    = { "cpu-node", devices = 2 },
  checkpoint = { every = "1000 steps", memory = "20 steps" },
}
-- >>> exit 1
job.lua:8:49: error[does-not-fit]: checkpoint.memory: two copies of a rank's
    part are 502 kB, and 497 kB are free beside what the rank needs of its
    budget
    8 |   checkpoint = { every = "1000 steps", memory = "20 steps" },
      |                                                 ^~~~~~~~~~
        fix: leave checkpoint.memory out
