-- RUN: check job.lua
-- SETUP: printf '1,2,3\n4,5,6\n' > t.csv
return job {
  model = "./m.lua",
  data = { "table", train = "t.csv", columns = { x = { "a", "b" }, y = "c" } },
  train = { batch = "2 samples", steps = 5 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- FILE: m.lua
return model { sizes = { inputs = 2, outputs = 1 }, forward = function(m) return mse(linear("w", input("x", { "batch", "inputs" }), "outputs"), input("y", { "batch", "outputs" })) end }
-- >>> exit 1
job.lua:3:48: error[data]: t.csv has no column 'a'; it has 1 2 3
    3 |   data = { "table", train = "t.csv", columns = { x = { "a", "b" }, y = "c" } },
      |                                                ^
job.lua:3:48: error[data]: t.csv has no column 'b'; it has 1 2 3
    3 |   data = { "table", train = "t.csv", columns = { x = { "a", "b" }, y = "c" } },
      |                                                ^
job.lua:3:48: error[data]: t.csv has no column 'c'; it has 1 2 3
    3 |   data = { "table", train = "t.csv", columns = { x = { "a", "b" }, y = "c" } },
      |                                                ^
    note: the first line of a CSV file names the columns; it holds numbers
3 errors
