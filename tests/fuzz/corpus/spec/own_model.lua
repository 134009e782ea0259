-- A model of your own: mlp.lua beside this file learns the price of a house from three columns of a CSV table.
-- Columns are scaled by hand here: rooms in ones, area in 100 m2, age in decades, price in 100,000.
return job {
  model     = { "./mlp.lua", inputs = 3 },
  data      = { "table", train = "house.csv", columns = { x = { "rooms", "area", "age" }, y = { "price" } } },
  train     = { batch = "64 samples", microbatch = 64, steps = 2000 },
  optimizer = { "sgd", lr = 1e-2, momentum = 0.9 },
  precision = "fp32",
}
