-- RUN: check job.lua
-- SETUP: printf 'abcdefgh%.0s' 1 2 3 4 5 6 7 8 9 > train.u8; printf 'hgfedcba%.0s' 1 2 3 4 5 6 7 8 9 > valid.u8
return job {
  model = "./counts.lua",
  data = { train = "train.u8", valid = "valid.u8", format = "u8" },
  train = { batch = "4 sequences", context = 8, steps = 10 },
  optimizer = { "sgd", lr = 0.1 },
}
-- FILE: counts.lua
local count = 0
local function name()
  count = count + 1
  return "layer" .. count
end
return model {
  sizes = { width = 8, vocab = 256 },
  forward = function(m)
    local tokens, targets = input("tokens", { "batch", "seq" }, "ids"), input("targets", { "batch", "seq" }, "ids")
    local x = embedding(name(), tokens, { "vocab", "width" })
    for i = 1, 2 do x = x + linear(name(), x, "width") end
    return cross_entropy(linear(name(), x, "vocab"), targets)
  end,
}
-- >>> exit 1
counts.lua:8:3: error[forward-differs]: forward runs several times, and did not
    do the same each time: a local of the file that it changes belongs inside it
    8 |   forward = function(m)
      |   ^~~~~~~
