return model {
  sizes = { inputs = 8 }
  forward = function(m) end,
}
-- >>> expected
-- syntax.lua:3:3: error[syntax]: '}' expected (to close '{' at line 1) near
--     'forward'
--     3 |   forward = function(m) end,
--       |   ^~~~~~~
--     note: a comma may be missing before 'forward'
