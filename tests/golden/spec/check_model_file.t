return model {
  sizes = { width = 8 },
  forward = function(m) return mse(linear("a", input("x", { "batch", "width" }), "width"), input("y", { "batch", "width" })) end,
}
-- >>> exit 1
job.lua:1:8: error[not-a-job]: this is a model file; a job file names it and has
    the other sections
    1 | return model {
      |        ^~~~~
        fix: return job { model = "./job.lua" }
