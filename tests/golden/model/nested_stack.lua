return model {
  sizes = { inputs = 8 },
  forward = function(m)
    local x = input("x", { "batch", "inputs" })
    local h = stack("outer", 2, x, function(x)
      return stack("inner", 2, x, function(x) return relu(x) end)
    end)
    return mse(linear("a", h, "inputs"), x)
  end,
}
-- >>> expected
-- nested_stack.lua:6:14: error[nested-stack]: stack: a stack inside a stack; there
--     is one level only
--     6 |       return stack("inner", 2, x, function(x) return relu(x) end)
--       |              ^~~~~
