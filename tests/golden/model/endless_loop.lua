return model {
  sizes = { inputs = 8 },
  forward = function(m)
    local x = input("x", { "batch", "inputs" })
    while true do local y = 1 end
    return mse(linear("a", x, "inputs"), x)
  end,
}
-- >>> expected
-- endless_loop.lua:5:5: error[limit]: this does not end: 20 million instructions
--     were run; a usual file needs hundreds
--     5 |     while true do local y = 1 end
--       |     ^
