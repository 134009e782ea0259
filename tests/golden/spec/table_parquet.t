-- RUN: check job.lua
-- SETUP: { printf PAR1; head -c 500 /dev/zero; } > t.parquet
return job {
  model = "./m.lua",
  data = { "table", train = "t.parquet", columns = { x = { "a", "b" }, y = "c" } },
  train = { batch = "2 samples", steps = 5 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- FILE: m.lua
return model { sizes = { inputs = 2, outputs = 1 }, forward = function(m) return mse(linear("w", input("x", { "batch", "inputs" }), "outputs"), input("y", { "batch", "outputs" })) end }
-- >>> exit 1
job.lua:3:29: error[data]: t.parquet is a Parquet file, not CSV: write it as
    CSV, pandas.read_parquet(FILE).to_csv("train.csv", index=False)
    3 |   data = { "table", train = "t.parquet", columns = { x = { "a", "b" }, y = "c" } },
      |                             ^~~~~~~~~~~
