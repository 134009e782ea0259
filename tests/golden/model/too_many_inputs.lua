return model {
  sizes = { a = 2 },
  forward = function(m)
    local y = input("y", { "batch", "a" })
    local sum = y
    for i = 1, 40 do sum = sum + input("x" .. i, { "batch", "a" }) end
    return mse(sum, y)
  end,
}
-- >>> expected
-- too_many_inputs.lua:6:34: error[too-many-inputs]: input: a micro-batch has at
--     most 12; make one input of what belongs together, with more features
--     6 |     for i = 1, 40 do sum = sum + input("x" .. i, { "batch", "a" }) end
--       |                                  ^~~~~
