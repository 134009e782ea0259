return model {
  sizes = { width = 8, vocab = 16 },
  forward = function(m)
    local ids = input("tokens", { "batch", "seq" }, "ids")
    local targets = input("targets", { "batch", "seq" }, "ids")
    local x = linear("head", embedding("e", ids, { "vocab", "width" }), "vocab")
    local a = cross_entropy(x, targets, { smoothing = 1 })
    local b = cross_entropy(x, targets, { z = -1 })
    return cross_entropy(x, targets, { smoothing = 0.1, z = 1e-4 })
  end,
}
-- >>> expected
-- smoothing.lua:7:15: error[wrong-option]: cross_entropy: smoothing is a share, 0
--     <= smoothing < 1; got 1
--     7 |     local a = cross_entropy(x, targets, { smoothing = 1 })
--       |               ^~~~~~~~~~~~~
-- smoothing.lua:8:15: error[wrong-option]: cross_entropy: z is the factor of
--     lse^2, 0 to 1, often 1e-4; got -1
--     8 |     local b = cross_entropy(x, targets, { z = -1 })
--       |               ^~~~~~~~~~~~~
