-- RUN: explain job.lua | grep -E "^(memory  |offload|proof|M_model|node)|exposed|parameters  "
return job {
  model = "llama3-70b",
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 1, context = 2048, steps = 1 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = "bf16",
  parallel = { zero = 3 },
  memory = { recompute = "block" },
  cluster = { "dgx-h100", devices = 8 },
  offload = { optimizer = "cpu", weights = "cpu" },
}
-- >>> exit 0
model    llama3-70b         70,553,706,496 parameters   425 GFLOP/token
memory   50.3 GB            of 83.6 GB a rank (60 %); packing 0.0 % above bound
parts    compute 32 %, exposed dp 68 %
offload  a step: d2h 35.3 GB in 551 ms, h2d 35.0 GB in 547 ms, host in 3.4 s
         3.4 s of it exposed, 66 % of the step
proof    ok                 8 ranks, 1 class, 1 communicator, 32609 accesses
M_model  parameters                   3.853009
host     parameters                  17.638101  copied when layers read them
node     1.27 TB of host memory for 8 ranks; 1.98 TB may be used
