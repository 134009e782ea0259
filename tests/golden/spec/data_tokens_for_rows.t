-- RUN: check job.lua
-- SETUP: printf 'abcdefgh%.0s' 1 2 3 4 5 6 7 8 9 > train.u8
return job {
  model = "./rows.lua",
  data = { train = "train.u8", format = "u8" },
  train = { batch = "4 sequences", context = 8, steps = 10 },
  optimizer = { "sgd", lr = 0.1 },
}
-- FILE: rows.lua
return model {
  sizes = { inputs = 2, outputs = 1 },
  forward = function(m)
    return mse(linear("o", input("x", { "batch", "inputs" }), "outputs"), input("y", { "batch", "outputs" }))
  end,
}
-- >>> exit 1
rows.lua:4:28: error[data]: input 'x' cannot be filled: files of tokens fill
    inputs of ids over { "batch", "seq" }: the tokens, and the next ones as
    'targets'
    4 |     return mse(linear("o", input("x", { "batch", "inputs" }), "outputs"), input("y", { "ba
      |                            ^~~~~
