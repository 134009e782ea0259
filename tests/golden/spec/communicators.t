-- RUN: explain job.lua --json | grep -oE '"communicators":.[^]]*'
return job {
  model = { "gpt2", layers = 4, width = 64, heads = 4, vocab = 256, positions = 32 },
  data = "synthetic",
  train = { batch = "64 sequences", microbatch = 1, steps = 10 },
  optimizer = { "adamw", lr = 1e-4 },
  parallel = { cp = 2, pp = 2, zero = 3 },
  cluster = { "dgx-h100", nodes = 2, devices = 8 },
}
-- >>> exit 0
job.lua:6:29: lint[few-layers]: 4 layers on 2 stages are fewer than four a
    stage: stages cannot be balanced, and each waits for its neighbours more
    than it computes
    6 |   parallel = { cp = 2, pp = 2, zero = 3 },
      |                             ^
        fix: pp = 1
"communicators":1811939328,"workspaces":0},
"communicators":[{"over":"cp","ranks":2,"lane":"cp","in_node":true,"estimated":402653184},{"over":"dp+cp","ranks":8,"lane":"dp","in_node":true,"estimated":301989888},{"over":"pp","ranks":2,"lane":"pp","in_node":false,"estimated":67108864},{"over":"dp+pp+cp","ranks":16,"lane":"compute","in_node":false,"estimated":805306368}
"communicators":[{"over":"cp","ranks":2,"lane":"cp","in_node":true,"estimated":402653184},{"over":"dp+cp","ranks":8,"lane":"dp","in_node":true,"estimated":301989888},{"over":"pp","ranks":2,"lane":"pp","in_node":false,"estimated":67108864},{"over":"dp+pp+cp","ranks":16,"lane":"compute","in_node":false,"estimated":805306368}
