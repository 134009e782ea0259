return model {
  sizes = { a = 2, b = 2, c = 2, d = 2, e = 2, f = 2, g = 2, h = 2, i = 2 },
  forward = function(m)
    local ids, x = input("label", { "batch" }, "ids"), input("x", { "batch", "a" })
    local w = weight("w", { "a", "b", "c", "d", "e", "f", "g", "h", "i" })
    local wide = linear("wide", x, { "b", "c", "d", "e", "f", "g", "h", "i" })
    local full = linear("full", linear("part", x, { "b", "c", "d", "e" }), { "f", "g", "h", "i", "a" })
    local rows = embedding("rows", ids, "a")
    local s = stack("s", 2, x, function(x) return relu(x) end)
    s = stack("s", 2, s, function(x) return relu(x) end)
    return mse(s, x)
  end,
}
-- >>> expected
-- too_many.lua:5:15: error[too-many-dimensions]: weight: at most 8 dimensions
--     5 |     local w = weight("w", { "a", "b", "c", "d", "e", "f", "g", "h", "i" })
--       |               ^~~~~~
-- too_many.lua:6:18: error[too-many-dimensions]: linear: [batch] and [b, c, d, e,
--     f, g, h, i] together have more than 8 dimensions
--     6 |     local wide = linear("wide", x, { "b", "c", "d", "e", "f", "g", "h", "i" })
--       |                  ^~~~~~
-- too_many.lua:7:18: error[too-many-dimensions]: linear: [f, g, h, i, a] and [b,
--     c, d, e] together have more than 8 dimensions
--     7 |     local full = linear("full", linear("part", x, { "b", "c", "d", "e" }), { "f", "g", "h"
--       |                  ^~~~~~
-- too_many.lua:8:18: error[table-shape]: embedding: a table is rows by features;
--     'rows.weight' is [a]
--     8 |     local rows = embedding("rows", ids, "a")
--       |                  ^~~~~~~~~
-- too_many.lua:10:9: error[duplicate-parameter]: stack: there are two named 's'
--    10 |     s = stack("s", 2, s, function(x) return relu(x) end)
--       |         ^~~~~
