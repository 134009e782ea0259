return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { train_batch_size = 64, train_micro_batch_size_per_gpu = 4, gradient_accumulation_steps = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  zero_optimization = { stage = 2 },
}
-- >>> exit 1
job.lua:4:13: error[unknown-key]: train.train_batch_size: no such key; that is
    train.batch here, in "N sequences"
    4 |   train = { train_batch_size = 64, train_micro_batch_size_per_gpu = 4, gradient_accumulati
      |             ^~~~~~~~~~~~~~~~
        fix: train = { batch = "64 sequences" }
job.lua:4:36: error[unknown-key]: train.train_micro_batch_size_per_gpu: no such
    key; that is train.microbatch here
    4 |   train = { train_batch_size = 64, train_micro_batch_size_per_gpu = 4, gradient_accumulati
      |                                    ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
        fix: train = { microbatch = 4 }
job.lua:4:72: error[declined]: train.gradient_accumulation_steps does not exist:
    accumulation is arithmetic: batch / (dp x microbatch)
    4 | 4, train_micro_batch_size_per_gpu = 4, gradient_accumulation_steps = 2, steps = 10 },
      |                                        ^~~~~~~~~~~~~~~~~~~~~~~~~~~
job.lua:6:3: error[unknown-key]: zero_optimization: no such key; that is
    parallel.zero here
    6 |   zero_optimization = { stage = 2 },
      |   ^~~~~~~~~~~~~~~~~
        fix: parallel = { zero = 2 }
4 errors
