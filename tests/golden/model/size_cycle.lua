return model {
  sizes = {
    heads = function(m) return m.width // m.head end,
    head = function(m) return m.width // m.heads end,
    width = 64,
  },
  forward = function(m) end,
}
-- >>> expected
-- size_cycle.lua:3:33: error[size-cycle]: sizes: head needs heads needs head: a
--     cycle
--     3 |     heads = function(m) return m.width // m.head end,
--       |                                 ^
