-- RUN: explain job.lua | grep -E "^(memory|proof|node|file)|^auto|of a rank"
return job {
  model = "llama2-7b",
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 1, context = 4096, steps = 1 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = "bf16",
  cluster = { "dgx-h100", devices = 1, host = "40GB" },
  memory = { recompute = "block" },
  offload = { "auto", path = "/scratch" },
}
-- >>> exit 0
job.lua: lint[tight-memory]: the arena takes 100.0 % of what a rank has: other
    programs, or a driver that needs more, make the run fail
        fix: memory = { budget = "95%" }
memory   84.8 GB            of 84.8 GB a rank (100 %); packing 0.0 % above bound
proof    ok                 1 rank, 1 class, 0 communicators, 31059 accesses
memory of one rank at the peak of a step, GB = 1e9 bytes
budget   of a rank                   84.840704
auto     38.0 GB of states, 403 MB of what forward keeps moved: optimizer = {
node     8.50 GB of host memory for 1 rank; 36.0 GB may be used
file     master                      12.667847
         file of a rank              38.003540  /scratch
of a rank: h100-sxm, 629 MB outside the arena
