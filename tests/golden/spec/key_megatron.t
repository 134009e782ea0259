return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { global_batch_size = 64, micro_batch_size = 4, seq_length = 64, train_iters = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  parallel = { tensor_model_parallel_size = 2 },
}
-- >>> exit 1
job.lua:4:13: error[unknown-key]: train.global_batch_size: no such key; that is
    train.batch here, in "N sequences"
    4 |   train = { global_batch_size = 64, micro_batch_size = 4, seq_length = 64, train_iters = 1
      |             ^~~~~~~~~~~~~~~~~
        fix: train = { batch = "64 sequences" }
job.lua:4:37: error[unknown-key]: train.micro_batch_size: no such key; that is
    train.microbatch here
    4 |   train = { global_batch_size = 64, micro_batch_size = 4, seq_length = 64, train_iters = 1
      |                                     ^~~~~~~~~~~~~~~~
        fix: train = { microbatch = 4 }
job.lua:4:59: error[unknown-key]: train.seq_length: no such key; that is
    train.context here
    4 |   train = { global_batch_size = 64, micro_batch_size = 4, seq_length = 64, train_iters = 1
      |                                                           ^~~~~~~~~~
        fix: train = { context = 64 }
job.lua:4:76: error[unknown-key]: train.train_iters: no such key; that is
    train.steps here
    4 | micro_batch_size = 4, seq_length = 64, train_iters = 10 },
      |                                        ^~~~~~~~~~~
        fix: train = { steps = 10 }
job.lua:6:16: error[unknown-key]: parallel.tensor_model_parallel_size: no such
    key; that is parallel.tp here
    6 |   parallel = { tensor_model_parallel_size = 2 },
      |                ^~~~~~~~~~~~~~~~~~~~~~~~~~
        fix: parallel = { tp = 2 }
5 errors
