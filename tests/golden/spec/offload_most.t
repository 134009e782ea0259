-- RUN: explain job.lua -D memory.recompute=block --json | grep -o '"tier":"host".*"moment v":[0-9]*'
return job {
  model = "llama2-7b",
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 1, context = 4096, steps = 1 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = "bf16",
  cluster = { "dgx-h100", devices = 1 },
  offload = { optimizer = { "cpu", most = "40GB" } },
}
-- >>> exit 0
job.lua: lint[tight-memory]: the arena takes 98.5 % of what a rank has: other
    programs, or a driver that needs more, make the run fail
"tier":"host","rows":{"parameters":404766720,"parameters, cast":0,"codes of weights":0,"gradients":13191593984,"master":13191593984,"compensation":0,"moment m":13191593984,"maxima of m":0,"moment v":13191593984
