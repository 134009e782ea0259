return model {
  sizes = { inputs = 8 },
  forward = function(m)
    local q, k, v = split(input("x", { "batch", "inputs" }), "inputs")
    return mse(m.inputs.width + q, k)
  end,
}
-- >>> expected
-- lua_error.lua:4:21: error[split-many]: split: inputs = 8 pieces; at most 6 come
--     out of one split
--     4 |     local q, k, v = split(input("x", { "batch", "inputs" }), "inputs")
--       |                     ^~~~~
-- lua_error.lua:5:18: error[lua-error]: attempt to index a number value (field
--     'inputs')
--     5 |     return mse(m.inputs.width + q, k)
--       |                  ^~~~~~
