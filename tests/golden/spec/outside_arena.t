-- RUN: check job.lua
return job {
  model = { "gpt2", layers = 8, width = 1024, heads = 16, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "56 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  parallel = { pp = 8 },
  memory = { budget = "1.3GB" },
  cluster = { "dgx-h100", memory = "2.5GB" },
}
-- >>> exit 0
job.lua: lint[small-microbatch]: a rank uses 22 % of its memory, and larger
    micro-batches fit: train.microbatch = 8 takes 4.40 ms less of 6.78 ms a step
        fix: microbatch = 8
job.lua:6:21: lint[few-layers]: 8 layers on 8 stages are fewer than four a
    stage: stages cannot be balanced, and each waits for its neighbours more
    than it computes
    6 |   parallel = { pp = 8 },
      |                     ^
        fix: pp = 2
job.lua:6:21: lint[bubble]: stages idle 11.1 % of a step: (pp-1) / (m + pp-1)
    with m = 56 micro-batches; the slowest stage waits 674 us of 6.78 ms
    6 |   parallel = { pp = 8 },
      |                     ^
        fix: batch = "63 sequences"
    note: m = 28: at most 20 %; m = 63: at most 10 %
job.lua:7:23: lint[outside-arena]: the arena leaves a GPU 125 MB less than
    NCCL's communicators (1.71 GB, an estimate) and CUDA (629 MB) may take
    7 |   memory = { budget = "1.3GB" },
      |                       ^~~~~~~
        fix: memory = { budget = "159MB" }
    note: NCCL_MAX_CTAS=8 in the environment makes its buffers a third, or less,
    and it slower
job.lua: right
