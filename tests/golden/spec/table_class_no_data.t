-- RUN: check job.lua --no-data
-- SETUP: printf 'a,b,c\n1,2,9\n' > t.csv
return job {
  model = "./m.lua",
  data = { "table", train = "t.csv", columns = { x = { "a", "b" }, y = "c" } },
  train = { batch = "2 samples", steps = 5 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- FILE: m.lua
return model { sizes = { inputs = 2, classes = 3 }, forward = function(m) return cross_entropy(linear("w", input("x", { "batch", "inputs" }), "classes"), input("y", { "batch" }, "ids")) end }
-- >>> exit 0
job.lua: right
