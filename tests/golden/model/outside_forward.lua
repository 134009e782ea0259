local x = input("x", { "batch" })
return model { forward = function(m) return x end }
-- >>> expected
-- outside_forward.lua:1:11: error[outside-forward]: input: values exist only while
--     forward runs; call it there
--     1 | local x = input("x", { "batch" })
--       |           ^~~~~
