-- RUN: explain job.lua optimizer --no-data -D optimizer=sgd -D optimizer.lr=0.5
return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 0
optimizer              sgd                     -D optimizer=sgd
optimizer.lr           0.5                     -D optimizer.lr=0.5
optimizer.beta1        0.9                     default
optimizer.beta2        0.95                    default
optimizer.eps          1e-08                   default
optimizer.momentum     0.9                     default
optimizer.weight_decay 0                       derived: sgd: 0
optimizer.clip         1                       default
