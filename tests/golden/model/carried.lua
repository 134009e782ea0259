-- A stack may begin with an input or a part of a split, and follow another one: a copy where no buffer was made.
return model {
  sizes = { inputs = 8, two = 2 },
  forward = function(m)
    local x = input("x", { "batch", "inputs" })
    local h = stack("a", 2, x, function(x)
      local left, right = split(linear("l", x, { "two", "inputs" }), "two")
      return right
    end)
    h = stack("b", 3, h, function(x) return x + linear("l", x, "inputs") end)
    h = stack("c", 3, gelu(h), function(x) return x + linear("l", x, "inputs") end)
    return mse(h, x)
  end,
}
-- >>> expected
-- 640 parameters
-- begin x 1:
--   = copy copy [batch, inputs]
-- a x 2: [batch, inputs]
--     linear a.*.l [batch, two, inputs]
--     split a.*.split [batch, inputs]
--   = copy a.*.copy [batch, inputs]
-- b x 3: [batch, inputs]
--     linear b.*.l [batch, inputs]
--   = add b.*.add [batch, inputs]
-- between x 1: [batch, inputs]
--   = gelu gelu [batch, inputs]
-- c x 3: [batch, inputs]
--     linear c.*.l [batch, inputs]
--   = add c.*.add [batch, inputs]
-- end x 1: [batch, inputs]
--     mse mse
