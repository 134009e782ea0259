-- RUN: check job.lua
-- SETUP: printf 'a b c\n1 2 3\n' > t.csv
return job {
  model = "./m.lua",
  data = { "table", train = "t.csv", columns = { x = { "a", "b" }, y = "c" } },
  train = { batch = "2 samples", steps = 5 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- FILE: m.lua
return model { sizes = { inputs = 2, outputs = 1 }, forward = function(m) return mse(linear("w", input("x", { "batch", "inputs" }), "outputs"), input("y", { "batch", "outputs" })) end }
-- >>> exit 1
job.lua:3:48: error[data]: t.csv has no column 'a'; it has a b c
    3 |   data = { "table", train = "t.csv", columns = { x = { "a", "b" }, y = "c" } },
      |                                                ^
job.lua:3:48: error[data]: t.csv has no column 'b'; it has a b c
    3 |   data = { "table", train = "t.csv", columns = { x = { "a", "b" }, y = "c" } },
      |                                                ^
job.lua:3:48: error[data]: t.csv has no column 'c'; it has a b c
    3 |   data = { "table", train = "t.csv", columns = { x = { "a", "b" }, y = "c" } },
      |                                                ^
    note: it has one column, because fields are separated by commas
    note: pandas.read_csv(FILE, sep="\s+").to_csv("train.csv", index=False)
    writes them so
3 errors
