-- RUN: check job.lua
-- SETUP: yes abc | head -c 500 > a.u8
return job {
  model = { "./m.lua", words = 256 },
  data = { train = "a.u8", format = "u8" },
  train = { batch = "8 sequences", context = 16, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- FILE: m.lua
return model { sizes = { words = required, width = 8 }, forward = function(m)
  local tokens = input("tokens", { "batch", "seq" }, "ids")
  return cross_entropy(linear("head", embedding("wte", tokens, { "words", "width" }), "words"),
                       input("targets", { "batch", "seq" }, "ids"))
end }
-- >>> exit 0
job.lua: right
