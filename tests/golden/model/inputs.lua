return model {
  sizes = { inputs = 8, vocab = 4 },
  forward = function(m)
    local a = input("a", { "inputs", "batch" })
    local b = input("b", { "batch", "inputs" }, "id")
    local c = input("c", { "batch", "inputs" })
    local d = input("c", { "batch", "inputs" })
    local e = input("tokens", { "batch", "seq" }, "ids")
    local f = input("labels", { "batch", "seq" }, "ids")
    local h = stack("s", 2, c, function(x) return x + input("g", { "batch", "inputs" }) end)
    return mse(h, c)
  end,
}
-- >>> expected
-- inputs.lua:4:15: error[input-shape]: input: dimensions begin with "batch", then
--     "seq" if any; got [inputs, batch]
--     4 |     local a = input("a", { "inputs", "batch" })
--       |               ^~~~~
-- inputs.lua:5:15: error[wrong-option]: input: argument 3 is "ids" or absent; got
--     the text "id"
--     5 |     local b = input("b", { "batch", "inputs" }, "id")
--       |               ^~~~~
--         fix: "ids"
-- inputs.lua:7:15: error[duplicate-input]: input: there are two named 'c'
--     7 |     local d = input("c", { "batch", "inputs" })
--       |               ^~~~~
-- inputs.lua:9:15: error[second-tokens]: input: 'labels': 'tokens' already takes
--     the tokens; the next token is the input named 'targets'
--     9 |     local f = input("labels", { "batch", "seq" }, "ids")
--       |               ^~~~~
--         fix: input("targets", { "batch", "seq" }, "ids")
-- inputs.lua:10:55: error[input-in-stack]: input: make 'g' outside the stack
--    10 |     local h = stack("s", 2, c, function(x) return x + input("g", { "batch", "inputs" }) en
--       |                                                       ^~~~~
