return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  parallel = { compress = "none", order = "tp dp", zero_unit = "25MiB" },
  log = { prometheus = true },
  peft = "lora",
}
-- >>> exit 1
job.lua:6:16: error[not-built]: parallel.compress is not built yet; remove it:
    gradients travel as precision.reduce says
    6 |   parallel = { compress = "none", order = "tp dp", zero_unit = "25MiB" },
      |                ^~~~~~~~
job.lua:7:11: error[not-built]: log.prometheus is not built yet; remove it:
    metrics.jsonl has every step
    7 |   log = { prometheus = true },
      |           ^~~~~~~~~~
job.lua:8:3: error[not-built]: peft is not built yet; remove the section: all
    parameters train
    8 |   peft = "lora",
      |   ^~~~
3 errors
