return model {
  sizes = { inputs = 4, outputs = 1, width = 15, layers = 2 },
  axes = { width = "tp" },
  forward = function(m)
    local x, y = input("x", { "batch", "inputs" }), input("y", { "batch", "outputs" })
    return mse(linear("last", linear("first", x, "width"), "outputs"), y)
  end,
}
-- >>> expected
-- tp 2: degrees: parallel.tp = 2 does not divide width = 15; nearest: 1 or 3
-- tp 2, whole norms: degrees: parallel.tp = 2 does not divide width = 15; nearest: 1 or 3
-- pp 2: stages: a model of 1 piece (its layers and ends) cannot be cut into 2 stages
