-- RUN: check job.lua --no-data
return job {
  model = "gpt2-124m",
  data = "synthetic",
  train = { batch = "64 sequences", microbatch = 1, steps = 1000 },
  optimizer = { "adamw", lr = 6e-4 },
  cluster = "./own.lua",
}
-- FILE: own.lua
return { "dgx-h100", network = "infinband" }
-- >>> exit 1
own.lua:1:32: error[unknown-word]: network: expected "infiniband", "ethernet",
    "efa" or "slingshot"; got infinband
    1 | return { "dgx-h100", network = "infinband" }
      |                                ^~~~~~~~~~~
        fix: network = "infiniband"
