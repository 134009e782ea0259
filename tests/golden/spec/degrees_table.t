-- RUN: check job.lua
-- SETUP: printf 'a,b,c\n1,2,3\n4,5,6\n' > t.csv
return job {
  model = "./mlp.lua",
  data = { "table", train = "t.csv", columns = { x = { "a", "b" }, y = "c" } },
  train = { batch = "4 samples", steps = 5 },
  parallel = { cp = 2 },
  cluster = { "here", devices = 4 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- FILE: mlp.lua
return model {
  sizes = { inputs = 2, outputs = 1 },
  forward = function(m)
    local x = input("x", { "batch", "inputs" })
    local y = input("y", { "batch", "outputs" })
    return mse(linear("w", x, "outputs"), y)
  end,
}
-- >>> exit 1
job.lua:5:21: error[conflict]: parallel.cp is for sequences, and samples of this
    data have none
    5 |   parallel = { cp = 2 },
      |                     ^
        fix: remove cp
