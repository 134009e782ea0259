-- RUN: check job.lua
-- SETUP: printf 'a,b,c\n1,2,3\n' > t.csv
return job {
  model = "./mlp.lua",
  data = { "table", train = "t.csv", columns = { x = { "a", "bb" }, y = "d" } },
  train = { batch = "2 samples", steps = 5 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- FILE: mlp.lua
return model { sizes = { inputs = 2, outputs = 1 }, forward = function(m) return mse(linear("w", input("x", { "batch", "inputs" }), "outputs"), input("y", { "batch", "outputs" })) end }
-- >>> exit 1
job.lua:3:48: error[data]: t.csv has no column 'bb'; it has a b c
    3 |   data = { "table", train = "t.csv", columns = { x = { "a", "bb" }, y = "d" } },
      |                                                ^
        fix: "b"
job.lua:3:48: error[data]: t.csv has no column 'd'; it has a b c
    3 |   data = { "table", train = "t.csv", columns = { x = { "a", "bb" }, y = "d" } },
      |                                                ^
2 errors
