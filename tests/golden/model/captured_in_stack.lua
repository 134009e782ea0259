return model {
  sizes = { inputs = 8 },
  forward = function(m)
    local x = input("x", { "batch", "inputs" })
    local h, leaked = linear("a", x, "inputs"), nil
    local y = stack("blocks", 2, h, function(x)
      leaked = relu(x)
      return leaked + h
    end)
    return mse(y + leaked, x)
  end,
}
-- >>> expected
-- captured_in_stack.lua:8:21: error[captured-in-stack]: add: [batch, inputs] was
--     made outside stack 'blocks'; a block sees what it takes, inputs and
--     positions
--     8 |       return leaked + h
--       |                     ^
--     captured_in_stack.lua:5:23: note: [batch, inputs] is made here
-- captured_in_stack.lua:10:18: error[captured-in-stack]: add: [batch, inputs]
--     belongs to one layer of stack 'blocks'; only what the block returns leaves
--     it
--    10 |     return mse(y + leaked, x)
--       |                  ^
--     captured_in_stack.lua:7:16: note: [batch, inputs] is made here
