-- RUN: explain job.lua schedule 2>/dev/null | grep -E 'warmup |decay '
return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 250 },
  optimizer = { "adamw", lr = 1e-3 },
  schedule = { "wsd", warmup = "1%", decay = "20%" },
}
-- >>> exit 0
schedule.warmup        3                       job: job.lua:6:32
schedule.decay         50                      job: job.lua:6:46
