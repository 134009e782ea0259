-- RUN: check job.lua
-- SETUP: printf 'a,b,c\n1,2,3\n1,2,3,4\n' > t.csv
return job {
  model = "./m.lua",
  data = { "table", train = "t.csv", columns = { x = { "a", "b" }, y = "c" } },
  train = { batch = "2 samples", steps = 5 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- FILE: m.lua
return model { sizes = { inputs = 2, outputs = 1 }, forward = function(m) return mse(linear("w", input("x", { "batch", "inputs" }), "outputs"), input("y", { "batch", "outputs" })) end }
-- >>> exit 1
job.lua:3:29: error[data]: t.csv:3: 4 fields, but the header names 3 columns;
    put quotes around a value with a comma; the decimal sign is a point
    3 |   data = { "table", train = "t.csv", columns = { x = { "a", "b" }, y = "c" } },
      |                             ^~~~~~~
