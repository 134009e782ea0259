-- RUN: check job.lua
-- SETUP: printf 'a;b;c\n1;2;3\n' > t.csv
return job {
  model = "./m.lua",
  data = { "table", train = "t.csv", columns = { x = { "a", "b" }, y = "c" } },
  train = { batch = "2 samples", steps = 5 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- FILE: m.lua
return model { sizes = { inputs = 2, outputs = 1 }, forward = function(m) return mse(linear("w", input("x", { "batch", "inputs" }), "outputs"), input("y", { "batch", "outputs" })) end }
-- >>> exit 1
job.lua:3:29: error[data]: t.csv:1: fields are separated by ';'; write the file
    with commas: pandas.read_csv(FILE, sep=";").to_csv("train.csv", index=False)
    3 |   data = { "table", train = "t.csv", columns = { x = { "a", "b" }, y = "c" } },
      |                             ^~~~~~~
