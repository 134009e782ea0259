return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  log = { dir = "~/runs" },
  checkpoint = { path = "$SCRATCH/ck" },
}
-- >>> exit 1
job.lua:6:17: error[path]: ~ and $ are not replaced in "~/runs":
    a plan must not depend on who compiles it
    6 |   log = { dir = "~/runs" },
      |                 ^~~~~~~~
    note: write the path itself; {run} and {name} are replaced
job.lua:7:25: error[path]: ~ and $ are not replaced in "$SCRATCH/ck":
    a plan must not depend on who compiles it
    7 |   checkpoint = { path = "$SCRATCH/ck" },
      |                         ^~~~~~~~~~~~~
    note: write the path itself; {run} and {name} are replaced
2 errors
