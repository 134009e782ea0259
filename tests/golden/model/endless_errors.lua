return model {
  sizes = { inputs = 8 },
  forward = function(m)
    local i = 0
    while true do
      i = i + 1
      gelu("x" .. i)
    end
  end,
}
-- >>> expected
-- endless_errors.lua:7:7: error[not-a-value]: gelu: argument 1 is a value; got the
--     text "x1"
--     7 |       gelu("x" .. i)
--       |       ^~~~
--         fix: gelu(x)
-- endless_errors.lua:7:7: error[not-a-value]: gelu: argument 1 is a value; got the
--     text "x10"
--     7 |       gelu("x" .. i)
--       |       ^~~~
--         fix: gelu(x)
-- endless_errors.lua:7:7: error[not-a-value]: gelu: argument 1 is a value; got the
--     text "x11"
--     7 |       gelu("x" .. i)
--       |       ^~~~
--         fix: gelu(x)
-- endless_errors.lua:7:7: error[not-a-value]: gelu: argument 1 is a value; got the
--     text "x12"
--     7 |       gelu("x" .. i)
--       |       ^~~~
--         fix: gelu(x)
-- endless_errors.lua:7:7: error[not-a-value]: gelu: argument 1 is a value; got the
--     text "x13"
--     7 |       gelu("x" .. i)
--       |       ^~~~
--         fix: gelu(x)
-- endless_errors.lua:7:7: error[not-a-value]: gelu: argument 1 is a value; got the
--     text "x14"
--     7 |       gelu("x" .. i)
--       |       ^~~~
--         fix: gelu(x)
-- endless_errors.lua:7:7: error[not-a-value]: gelu: argument 1 is a value; got the
--     text "x15"
--     7 |       gelu("x" .. i)
--       |       ^~~~
--         fix: gelu(x)
-- endless_errors.lua:7:7: error[not-a-value]: gelu: argument 1 is a value; got the
--     text "x16"
--     7 |       gelu("x" .. i)
--       |       ^~~~
--         fix: gelu(x)
-- endless_errors.lua:7:7: error[not-a-value]: gelu: argument 1 is a value; got the
--     text "x2"
--     7 |       gelu("x" .. i)
--       |       ^~~~
--         fix: gelu(x)
-- endless_errors.lua:7:7: error[not-a-value]: gelu: argument 1 is a value; got the
--     text "x3"
--     7 |       gelu("x" .. i)
--       |       ^~~~
--         fix: gelu(x)
-- endless_errors.lua:7:7: error[not-a-value]: gelu: argument 1 is a value; got the
--     text "x4"
--     7 |       gelu("x" .. i)
--       |       ^~~~
--         fix: gelu(x)
-- endless_errors.lua:7:7: error[not-a-value]: gelu: argument 1 is a value; got the
--     text "x5"
--     7 |       gelu("x" .. i)
--       |       ^~~~
--         fix: gelu(x)
-- endless_errors.lua:7:7: error[not-a-value]: gelu: argument 1 is a value; got the
--     text "x6"
--     7 |       gelu("x" .. i)
--       |       ^~~~
--         fix: gelu(x)
-- endless_errors.lua:7:7: error[not-a-value]: gelu: argument 1 is a value; got the
--     text "x7"
--     7 |       gelu("x" .. i)
--       |       ^~~~
--         fix: gelu(x)
-- endless_errors.lua:7:7: error[not-a-value]: gelu: argument 1 is a value; got the
--     text "x8"
--     7 |       gelu("x" .. i)
--       |       ^~~~
--         fix: gelu(x)
-- endless_errors.lua:7:7: error[not-a-value]: gelu: argument 1 is a value; got the
--     text "x9"
--     7 |       gelu("x" .. i)
--       |       ^~~~
--         fix: gelu(x)
