-- RUN: explain job.lua | grep -E "^(memory  |offload|proof|M_act|node)|exposed|activations"
return job {
  model = "llama3-8b",
  data = "synthetic",
  train = { batch = "2 sequences", microbatch = 1, context = 8192, steps = 1 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = "bf16",
  memory = { recompute = "block" },
  cluster = { "dgx-h100", devices = 1 },
  offload = { optimizer = "cpu", activations = { "cpu", share = "50%" } },
}
-- >>> exit 0
job.lua:9:48: lint[unused-memory]: a rank uses 60 % of its memory, and saves
    more than it must: offload.activations = "none" takes 183 ms less of 2.14 s
    a step
    9 |   offload = { optimizer = "cpu", activations = { "cpu", share = "50%" } },
      |                                                ^
        fix: activations = "none"
memory   50.9 GB            of 84.8 GB a rank (60 %); packing 0.0 % above bound
offload  a step: d2h 36.1 GB in 565 ms, h2d 20.1 GB in 314 ms, host in 392 ms
         380 ms of it exposed, 18 % of the step
proof    ok                 1 rank, 1 class, 0 communicators, 18757 accesses
M_act    activations                  2.504032
node     225 GB of host memory for 1 rank; 1.98 TB may be used
activations: bf16, recompute every block; the rest is in host memory
