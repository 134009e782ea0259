-- RUN: explain job.lua | grep -E "^(time|offload)|exposed|longest|a step$"
return job {
  model = "llama2-7b",
  data = "synthetic",
  train = { batch = "1 sequences", microbatch = 1, context = 4096, steps = 1 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = "bf16",
  cluster = { "dgx-a100", devices = 1 },
  offload = "cpu",
}
-- >>> exit 0
time     1.1 s              a step, expected   3,826 tokens/s
offload  a step: d2h 27.0 GB in 842 ms, h2d 13.5 GB in 421 ms, host in 494 ms
         251 ms of it exposed, 23 % of the step
         lane d2h works longest; hidden with 16 times the tokens a micro-batch,
                            65,536 a step
