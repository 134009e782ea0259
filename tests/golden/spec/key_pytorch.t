return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = { "synthetic", num_workers = 4, pin_memory = true },
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  mixed_precision = "bf16",
  parallel = { find_unused_parameters = true, bucket_cap_mb = 25 },
  learning_rate = 1e-3,
}
-- >>> exit 1
job.lua:3:25: error[declined]: data.num_workers does not exist: batches are
    staged by one thread; data.prefetch says how many ahead
    3 |   data = { "synthetic", num_workers = 4, pin_memory = true },
      |                         ^~~~~~~~~~~
job.lua:3:42: error[declined]: data.pin_memory does not exist: batches and
    offloaded bytes are in an arena of the plan, which is pinned where there is
    a GPU
    3 |   data = { "synthetic", num_workers = 4, pin_memory = true },
      |                                          ^~~~~~~~~~
job.lua:6:3: error[unknown-section]: mixed_precision: no such key; that is
    precision here
    6 |   mixed_precision = "bf16",
      |   ^~~~~~~~~~~~~~~
        fix: precision = "bf16"
job.lua:7:16: error[declined]: parallel.find_unused_parameters does not exist:
    every parameter of the plan has its gradient, which is known before the job
    starts
    7 |   parallel = { find_unused_parameters = true, bucket_cap_mb = 25 },
      |                ^~~~~~~~~~~~~~~~~~~~~~
job.lua:7:47: error[unknown-key]: parallel.bucket_cap_mb: no such key; that is
    parallel.bucket here, in bytes
    7 |   parallel = { find_unused_parameters = true, bucket_cap_mb = 25 },
      |                                               ^~~~~~~~~~~~~
        fix: parallel = { bucket = "25MiB" }
job.lua:8:3: error[unknown-key]: learning_rate: no such key; that is
    optimizer.lr here
    8 |   learning_rate = 1e-3,
      |   ^~~~~~~~~~~~~
        fix: optimizer = { lr = 0.001 }
6 errors
