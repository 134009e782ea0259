-- Classes of rows, some of which have none (below 0): they count for nothing.
return job {
  model      = { "./residual.lua" },
  data       = { "table", train = "classes.csv", columns = { x = { "a", "b", "c" }, y = "k" }, shuffle = false },
  train      = { batch = "16 samples", microbatch = 4, steps = 20 },
  optimizer  = { "adamw", lr = 3e-3, clip = 0.5 },
  precision  = "fp32",
  memory     = { recompute = "none" },
  checkpoint = { every = "1000 steps", resume = "never" },
}
