-- RUN: explain job.lua | grep -E "^(memory|offload|proof|host|M_grad|node)|exposed"
return job {
  model = "llama2-7b",
  data = "synthetic",
  train = { batch = "4 sequences", microbatch = 1, context = 4096, steps = 1 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = "bf16",
  cluster = { "dgx-h100", devices = 1 },
  offload = { optimizer = "cpu", grads = "cpu" },
}
-- >>> exit 0
job.lua:4:49: lint[small-microbatch]: a rank uses 37 % of its memory, and
    larger micro-batches fit: train.microbatch = 4 takes 1.08 s less of 2.29 s a
    step
    4 |   train = { batch = "4 sequences", microbatch = 1, context = 4096, steps = 1 },
      |                                                 ^
        fix: microbatch = 4
memory   31.2 GB            of 84.8 GB a rank (37 %); packing 0.1 % above bound
offload  a step: d2h 108 GB in 1.7 s, h2d 94.3 GB in 1.5 s, host in 329 ms
         1.1 s of it exposed, 48 % of the step
proof    ok                 1 rank, 1 class, 0 communicators, 26355 accesses
memory of one rank at the peak of a step, GB = 1e9 bytes
M_grad   gradients                    2.952905  fp32; 4 passes
host     parameters                   1.214300  on their way back
node     190 GB of host memory for 1 rank; 1.98 TB may be used
