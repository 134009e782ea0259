-- RUN: check job.lua --no-data 2>&1 | grep -oE 'error\[[a-z-]*\]|[0-9]+ errors?$|fix: .*'
return job {
  model = { "gpt2", layer = 4, width = 256, heads = 4, vocab = 1024, positions = 128 },
  data = "synthetic",
  train = { batch = "8 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
error[unknown-size]
fix: layers = 4
