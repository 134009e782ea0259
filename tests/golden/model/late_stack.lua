return model {
  sizes = { inputs = 8 },
  forward = function(m)
    local x = input("x", { "batch", "inputs" })
    local h = linear("a", x, "inputs")
    local loss = mse(h, x)
    stack("s", 2, h, function(x) return relu(x) end)
    stack("t", 0, h, function(x) return relu(x) end)
    stack("u", 2, h, "block")
    return loss
  end,
}
-- >>> expected
-- late_stack.lua:8:5: error[wrong-size]: stack: argument 2 is how many layers, 1
--     to 1,000,000; got the number 0
--     8 |     stack("t", 0, h, function(x) return relu(x) end)
--       |     ^~~~~
-- late_stack.lua:9:5: error[skips-stack]: stack: [batch, inputs] was made before a
--     stack and is used after it; only the carried value crosses, inputs and
--     positions too
--     9 |     stack("u", 2, h, "block")
--       |     ^~~~~
--     late_stack.lua:5:15: note: [batch, inputs] is made here
