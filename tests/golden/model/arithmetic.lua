return model {
  sizes = { inputs = 8 },
  forward = function(m)
    local x = input("x", { "batch", "inputs" })
    local a, b, c = x ^ 2, x / x, x + "one"
    local d, e, f = x * nil, #x, x .. "text"
    local g, h, i = x % 2, x.dims, 2 / x
    local j = x * (0 / 0)
    return mse(linear("a", x, "inputs"), x)
  end,
}
-- >>> expected
-- arithmetic.lua:5:23: error[no-operator]: values have + - * and / by a number,
--     and no '^'
--     5 |     local a, b, c = x ^ 2, x / x, x + "one"
--       |                       ^
-- arithmetic.lua:5:30: error[no-operator]: divide: a value can be divided by a
--     number; got the value [batch, inputs]
--     5 |     local a, b, c = x ^ 2, x / x, x + "one"
--       |                              ^
-- arithmetic.lua:5:37: error[not-a-value]: add: argument 2 is a value; got the
--     text "one"
--     5 |     local a, b, c = x ^ 2, x / x, x + "one"
--       |                                     ^
-- arithmetic.lua:6:5: error[no-operator]: values have + - * and / by a number, and
--     no '#'
--     6 |     local d, e, f = x * nil, #x, x .. "text"
--       |     ^
-- arithmetic.lua:6:23: error[not-a-value]: multiply: argument 2 is a value; got
--     nil
--     6 |     local d, e, f = x * nil, #x, x .. "text"
--       |                       ^
-- arithmetic.lua:6:36: error[no-operator]: values have + - * and / by a number,
--     and no '..'
--     6 |     local d, e, f = x * nil, #x, x .. "text"
--       |                                    ^~
-- arithmetic.lua:7:23: error[no-operator]: values have + - * and / by a number,
--     and no '%'
--     7 |     local g, h, i = x % 2, x.dims, 2 / x
--       |                       ^
-- arithmetic.lua:7:29: error[no-operator]: values have + - * and / by a number,
--     and no '.'
--     7 |     local g, h, i = x % 2, x.dims, 2 / x
--       |                             ^
-- arithmetic.lua:7:38: error[no-operator]: divide: a value can be divided by a
--     number; got the value [batch, inputs]
--     7 |     local g, h, i = x % 2, x.dims, 2 / x
--       |                                      ^
-- arithmetic.lua:8:17: error[wrong-number]: multiply: the number must be finite
--     8 |     local j = x * (0 / 0)
--       |                 ^
