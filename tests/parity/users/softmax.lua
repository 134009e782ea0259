return model {
  sizes = { inputs = 4, classes = 3 },
  forward = function(m)
    local x, y = input("x", { "batch", "inputs" }), input("y", { "batch" }, "ids")
    return cross_entropy(softmax(linear("last", x, "classes")), y)
  end,
}
-- >>> expected
-- softmax.lua:5:26: error[unknown-name]: nothing is named 'softmax' here;
--     no function has this name; one of your own must be defined above its use
--     5 |     return cross_entropy(softmax(linear("last", x, "classes")), y)
--       |                          ^~~~~~~
