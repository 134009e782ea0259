return model {
  sizes = { inputs = 8, three = 3, half = 2, nine = 9 },
  forward = function(m)
    local x = input("x", { "batch", "inputs" })
    local a, b = split(linear("a", x, { "three", "half" }), "half")
    local c = split(x, "three")
    local d = split(linear("d", x, { "nine", "half" }), "nine")
    local e = split(x, "batch")
    return mse(a + b + c + d + e, x)
  end,
}
-- >>> expected
-- split.lua:5:18: error[split-first]: split: 'half' is not the first feature of
--     [batch, three, half]; only that one can be split
--     5 |     local a, b = split(linear("a", x, { "three", "half" }), "half")
--       |                  ^~~~~
-- split.lua:6:15: error[no-dimension]: split: [batch, inputs] has no dimension
--     'three'
--     6 |     local c = split(x, "three")
--       |               ^~~~~
-- split.lua:7:15: error[split-many]: split: nine = 9 pieces; at most 6 come out of
--     one split
--     7 |     local d = split(linear("d", x, { "nine", "half" }), "nine")
--       |               ^~~~~
-- split.lua:8:15: error[split-first]: split: 'batch' is not the first feature of
--     [batch, inputs]; only that one can be split
--     8 |     local e = split(x, "batch")
--       |               ^~~~~
