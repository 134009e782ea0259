return model {
  sizes = { inputs = 8 },
  forward = function(m)
    local x = input("x", { "batch", "inputs" })
    local a = linear("a b", x, "inputs")
    local b = linear("", x, "inputs")
    local c = linear("c", x)
    local d = linear("d", x, 3)
    local e = linear("e", x, { "inputs", "inputs" })
    local f = linear("f", x, { "batch" })
    local g = weight("g", { "batch", "inputs" })
    local h = linear("h", x, {})
    return mse(x, x)
  end,
}
-- >>> expected
-- names.lua:5:15: error[not-a-name]: linear: 'a b' is not a name: letters, digits,
--     _ - and dots between, 200 bytes at most
--     5 |     local a = linear("a b", x, "inputs")
--       |               ^~~~~~
-- names.lua:6:15: error[not-a-name]: linear: '' is not a name: letters, digits, _
--     - and dots between, 200 bytes at most
--     6 |     local b = linear("", x, "inputs")
--       |               ^~~~~~
-- names.lua:7:15: error[missing-output]: linear: 'c': say which dimensions come
--     out
--     7 |     local c = linear("c", x)
--       |               ^~~~~~
--         fix: linear("c", x, "width")
-- names.lua:8:15: error[not-a-name]: linear: argument 3 names dimensions, e.g.
--     "width" or { "heads", "head" }; got the number 3
--     8 |     local d = linear("d", x, 3)
--       |               ^~~~~~
-- names.lua:9:15: error[repeated-dimension]: linear: 'inputs' is twice in one list
--     9 |     local e = linear("e", x, { "inputs", "inputs" })
--       |               ^~~~~~
-- names.lua:10:15: error[carried-weight]: linear: 'f' makes features, and 'batch'
--     is a dimension of the data
--    10 |     local f = linear("f", x, { "batch" })
--       |               ^~~~~~
-- names.lua:11:15: error[carried-weight]: weight: 'g' cannot have 'batch': it is
--     of the data, not of the model
--    11 |     local g = weight("g", { "batch", "inputs" })
--       |               ^~~~~~
-- names.lua:12:15: error[not-a-name]: linear: argument 3 names dimensions, e.g.
--     "width" or { "heads", "head" }; got the table {}
--    12 |     local h = linear("h", x, {})
--       |               ^~~~~~
