return model {
  sizes = { inputs = 8 },
  forward = function(m)
    local x = input("x", { "batch", "inputs" })
    local w, inner = weight("w", { "inputs", "inputs" }), nil
    local table = weight("table", { "inputs" })
    local h = stack("blocks", 2, x, function(x)
      inner = weight("inner", { "inputs" })
      return linear(table, x)
    end)
    return mse(linear(inner, h), x)
  end,
}
-- >>> expected
-- shared_in_stack.lua:5:22: error[repeated-dimension]: weight: 'inputs' is twice
--     in one list
--     5 |     local w, inner = weight("w", { "inputs", "inputs" }), nil
--       |                      ^~~~~~
-- shared_in_stack.lua:9:14: error[shared-in-stack]: linear: weight 'table' was
--     made outside stack 'blocks'; layers do not share a weight
--     9 |       return linear(table, x)
--       |              ^~~~~~
--     shared_in_stack.lua:6:19: note: 'table' is made here
-- shared_in_stack.lua:11:16: error[shared-in-stack]: linear: weight
--     'blocks.*.inner' belongs to the layers of stack 'blocks' and is used outside
--     them
--    11 |     return mse(linear(inner, h), x)
--       |                ^~~~~~
--     shared_in_stack.lua:8:15: note: 'blocks.*.inner' is made here
