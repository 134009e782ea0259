return model {
  sizes = { inputs = 8 },
  forward = function(m)
    local list = {}
    for i = 1, 1e9 do list[i] = { i } end
  end,
}
-- >>> expected
-- memory.lua:5:5: error[limit]: the file uses more than 64 MiB of memory
--     5 |     for i = 1, 1e9 do list[i] = { i } end
--       |     ^
