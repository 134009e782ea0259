-- RUN: explain job.lua | grep -E "^(memory  |proof|M_opt|auto|node)|moment"
return job {
  model = "llama2-7b",
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 1, context = 4096, steps = 1 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = "bf16",
  cluster = { "dgx-h100", devices = 2 },
  memory = { recompute = "block", budget = "55GB" },
  parallel = { pp = 2 },
  offload = "auto",
}
-- >>> exit 0
job.lua:9:21: lint[bubble]: stages idle 11.1 % of a step: (pp-1) / (m + pp-1)
    with m = 8 micro-batches; the slowest stage waits 213 ms of 1.70 s
    9 |   parallel = { pp = 2 },
      |                     ^
        fix: batch = "9 sequences"
    note: m = 4: at most 20 %; m = 9: at most 10 %
memory   52.8 GB to 53.2 GB of 55.0 GB a rank (97 %); packing 0.0 % above bound
proof    ok                 2 ranks, 2 classes, 1 communicator, 56789 accesses
M_opt    master                      10.238689  10.523935
         moment m                    10.238689  10.523935
         moment v                    10.238689  10.523935
         moment m                     3.238134   2.952905
         moment v                     3.238134   2.952905
auto     9.71 GB of states moved: optimizer = { "cpu", most = "9714401280B" }
node     106 GB of host memory for 2 ranks; 1.98 TB may be used
moment m: the rest is in host memory
moment v: the rest is in host memory
