-- Options are in a table of their own; in the list of dimensions they would be dropped.
return model {
  sizes = { width = 8, heads = 2, head = 4 },
  forward = function(m)
    local x = input("x", { "batch", "width" })
    local h = linear("a", x, { "heads", "head", bias = true })
    return mse(linear("b", h, { "width", init = "kaiming_uniform" }), x)
  end,
}
-- >>> expected
-- options_in_dims.lua:6:15: error[not-a-name]: linear: argument 3 is a list of
--     dimensions, and 'bias' is none; options are a table of their own
--     6 |     local h = linear("a", x, { "heads", "head", bias = true })
--       |               ^~~~~~
