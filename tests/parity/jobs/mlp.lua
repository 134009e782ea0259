-- A regressor with two outputs, so that a mean over samples only would be seen. The second is the age again,
-- in a column of its own (years).
return job {
  model      = { "../../../examples/mlp.lua", inputs = 3, outputs = 2, width = 32, hidden = 48, layers = 2 },
  data       = { "table", train = "house.csv",
                 columns = { x = { "rooms", "area", "age" }, y = { "price", "years" } } },
  train      = { batch = "8 samples", microbatch = 4, steps = 20 },
  optimizer  = { "adamw", lr = 3e-3, clip = 0.5 },
  precision  = "fp32",
  memory     = { recompute = "none" },
  checkpoint = { every = "1000 steps", resume = "never" },
}
