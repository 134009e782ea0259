-- RUN: explain job.lua --json 2>&1 | grep -o "\"node_hours.*"
return job {
  model = { "gpt2", layers = 2, width = 64, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "1024 sequences", microbatch = 32, steps = 1e6 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "dgx-h100", nodes = 2, price = "$98.32/h" },
}
-- >>> exit 0
"node_hours":0.00169638,"cost":0.166788,"kwh":0.00949974},
"node_hours":0.230559,"cost":22.6686,"kwh":1.29113},
