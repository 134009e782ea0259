return model {
  sizes = { width = 16, vocab = 64 },
  forward = function(m)
    local tokens = input("tokens", { "batch", "seq" }, "ids")
    local targets = input("targets", { "batch", "seq" }, "ids")
    local x = embedding("wte", tokens, { "vocab", "width" })
    return cross_entropy(targets, linear("head", x, "vocab"))
  end,
}
-- >>> expected
-- loss_arguments_swapped.lua:7:12: error[needs-numbers]: cross_entropy: argument 1
--     is numbers; got the ids [batch, seq]
--     7 |     return cross_entropy(targets, linear("head", x, "vocab"))
--       |            ^~~~~~~~~~~~~
--         fix: embedding("name", ids, { "vocab", "width" })
-- loss_arguments_swapped.lua:7:12: error[needs-ids]: cross_entropy: argument 2 is
--     ids, from input(name, dims, "ids"); got the value [batch, seq, vocab]
--     7 |     return cross_entropy(targets, linear("head", x, "vocab"))
--       |            ^~~~~~~~~~~~~
