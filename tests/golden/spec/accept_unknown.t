return job {
  accept = "few-layer",
  model = "gpt2-124m",
  data = "synthetic",
  train = { batch = "64 sequences", microbatch = 1, steps = 1000 },
  optimizer = { "adamw", lr = 6e-4 },
}
-- >>> exit 1
job.lua:2:12: error[unknown-word]: job.accept: no lint is called few-layer
    2 |   accept = "few-layer",
      |            ^~~~~~~~~~~
        fix: accept = { "few-layers" }
