-- RUN: check job.lua --no-data
return job {
  model = { "./m.lua", vocab_multiple = 64 },
  data = { "table", train = "t.csv", columns = { x = { "a" }, y = { "b" } } },
  train = { batch = "4 samples", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  memory = { recompute = "block" },
}
-- FILE: m.lua
return model { sizes = { inputs = 1, outputs = 1 },
  forward = function(m)
    return mse(linear("l", input("x", { "batch", "inputs" }), "outputs"), input("y", { "batch", "outputs" }))
  end }
-- >>> exit 0
job.lua:2:41: lint[no-effect]: vocab_multiple: the model has no dimension vocab
    2 |   model = { "./m.lua", vocab_multiple = 64 },
      |                                         ^~
        fix: remove vocab_multiple
job.lua:6:26: lint[no-effect]: recompute: the model has no stack, whose blocks
    backward could compute again
    6 |   memory = { recompute = "block" },
      |                          ^~~~~~~
        fix: remove recompute
job.lua: right
