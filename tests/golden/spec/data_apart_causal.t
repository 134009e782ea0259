-- RUN: check job.lua --no-data
return job {
  model = { "./own.lua", vocab = 256, width = 32, heads = 2, head = 16, layers = 4 },
  data = { train = "train.tok", format = "tok", documents = "apart" },
  train = { batch = "4 sequences", context = 32, steps = 4 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- FILE: own.lua
local function block(x, m)
  local q = linear("q", x, { "heads", "head" })
  return x + linear("o", attention(q, linear("k", x, { "heads", "head" }), linear("v", x, { "heads", "head" })), "width")
end
return model {
  sizes = { vocab = required, width = required, heads = required, head = required, layers = required },
  forward = function(m)
    local ids = input("tokens", { "batch", "seq" }, "ids")
    local targets = input("targets", { "batch", "seq" }, "ids")
    local x = stack("h", m.layers, embedding("wte", ids, { "vocab", "width" }), block)
    return cross_entropy(linear("head", x, "vocab"), targets)
  end,
}
-- >>> exit 1
own.lua:3:26: error[wrong-option]: attention: with data.documents = "apart" it
    is causal
    3 |   return x + linear("o", attention(q, linear("k", x, { "heads", "head" }), linear("v", x, 
      |                          ^~~~~~~~~
        fix: causal = true
