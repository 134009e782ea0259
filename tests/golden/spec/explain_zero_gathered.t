-- RUN: explain job.lua | grep -E "^(parameters|gradients|master):"
return job {
  model = { "gpt2", layers = 4, width = 256, heads = 4, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  parallel = { zero = 3 },
  cluster = "dgx-h100",
}
-- >>> exit 0
job.lua:6:23: lint[gather-size]: ZeRO 3 gathers pieces of 197 kB a rank: below
    1 MiB the latency of a message is most of its time
    6 |   parallel = { zero = 3 },
      |                       ^
        fix: zero = 2
parameters: 3,241,472 x bf16; 1/8 (zero 3) and 3.15 MB gathered
gradients: fp32; 1 pass; 1/8 (zero 3) and 6.58 MB not yet reduced
master: fp32: the optimizer's own copy; 1/8 (zero 3)
