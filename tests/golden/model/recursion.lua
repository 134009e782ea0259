return model {
  sizes = { inputs = 8 },
  forward = function(m)
    local function deeper(x) return 1 + deeper(x) end
    return deeper(input("x", { "batch", "inputs" }))
  end,
}
-- >>> expected
-- recursion.lua:4:20: error[limit]: functions call each other without end
--     4 |     local function deeper(x) return 1 + deeper(x) end
--       |                    ^~~~~~
