-- RUN: check job.lua
-- SETUP: head -c 500 /dev/zero > a.u8
return job {
  model = { "./m.lua", vocab = 256 },
  data = { train = "a.u8", format = "u8" },
  train = { batch = "8 sequences", context = 16, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- FILE: m.lua
return model { sizes = { vocab = required, width = 8 }, forward = function(m)
  local tokens = input("tokens", { "batch", "seq" }, "ids")
  local mask = input("mask", { "batch", "seq", "width" })
  return cross_entropy(linear("head", embedding("wte", tokens, { "vocab", "width" }) + mask, "vocab"),
                       input("targets", { "batch", "seq" }, "ids"))
end }
-- >>> exit 1
m.lua:3:16: error[data]: input 'mask' cannot be filled: files of tokens fill
    inputs of ids over { "batch", "seq" }: the tokens, and the next ones as
    'targets'
    3 |   local mask = input("mask", { "batch", "seq", "width" })
      |                ^~~~~
