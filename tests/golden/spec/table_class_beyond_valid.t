-- RUN: compile job.lua
-- SETUP: printf 'a,b,c\n1,2,0\n1,2,2\n' > t.csv; printf 'a,b,c\n1,2,2.5\n' > v.csv
return job {
  model = "./m.lua",
  data = { "table", train = "t.csv", valid = "v.csv", columns = { x = { "a", "b" }, y = "c" } },
  train = { batch = "2 samples", steps = 5 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- FILE: m.lua
return model { sizes = { inputs = 2, classes = 3 }, forward = function(m) return cross_entropy(linear("w", input("x", { "batch", "inputs" }), "classes"), input("y", { "batch" }, "ids")) end }
-- >>> exit 1
job.lua:3:46: error[data]: v.csv:2:c: '2.5' is not an id: ids are whole numbers
    from 0 to 2, or -1 for none
    3 |   data = { "table", train = "t.csv", valid = "v.csv", columns = { x = { "a", "b" }, y = "c
      |                                              ^~~~~~~
