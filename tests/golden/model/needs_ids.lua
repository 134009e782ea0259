return model {
  sizes = { inputs = 8, vocab = 4 },
  forward = function(m)
    local x = input("x", { "batch", "inputs" })
    local ids = input("label", { "batch" }, "ids")
    local e = embedding("e", x, { "vocab", "inputs" })
    return cross_entropy(linear("a", gelu(ids), "vocab"), x)
  end,
}
-- >>> expected
-- needs_ids.lua:6:15: error[needs-ids]: embedding: argument 2 is ids, from
--     input(name, dims, "ids"); got the value [batch, inputs]
--     6 |     local e = embedding("e", x, { "vocab", "inputs" })
--       |               ^~~~~~~~~
-- needs_ids.lua:7:12: error[needs-ids]: cross_entropy: argument 2 is ids, from
--     input(name, dims, "ids"); got the value [batch, inputs]
--     7 |     return cross_entropy(linear("a", gelu(ids), "vocab"), x)
--       |            ^~~~~~~~~~~~~
-- needs_ids.lua:7:38: error[needs-numbers]: gelu: argument 1 is numbers; got the
--     ids [batch]
--     7 |     return cross_entropy(linear("a", gelu(ids), "vocab"), x)
--       |                                      ^~~~
--         fix: embedding("name", ids, { "vocab", "width" })
