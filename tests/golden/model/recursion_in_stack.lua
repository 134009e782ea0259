return model {
  sizes = { inputs = 8 },
  forward = function(m)
    local function block(x) return stack("s", 2, x, block) end
    return block(input("x", { "batch", "inputs" }))
  end,
}
-- >>> expected
-- recursion_in_stack.lua:4:36: error[nested-stack]: stack: a stack inside a stack;
--     there is one level only
--     4 |     local function block(x) return stack("s", 2, x, block) end
--       |                                    ^~~~~
