-- RUN: explain job.lua | grep -E "^(memory  |proof|M_opt|host|node)|moment|master|arena"
return job {
  model = "llama2-7b",
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 1, context = 4096, steps = 1 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = "bf16",
  cluster = { "dgx-h100", devices = 1 },
  offload = { optimizer = { "cpu", share = "60%" } },
}
-- >>> exit 0
job.lua: lint[tight-memory]: the arena takes 98.8 % of what a rank has: other
    programs, or a driver that needs more, make the run fail; the fix takes 555
    ms more of 2.49 s a step
        fix: memory = { budget = "95%" }
memory   83.8 GB            of 84.8 GB a rank (99 %); packing 0.0 % above bound
proof    ok                 1 rank, 1 class, 0 communicators, 26317 accesses
M_opt    master                      10.238689  the rest is in host memory
         moment m                    10.238689  the rest is in host memory
         moment v                    10.238689  the rest is in host memory
         arena                       83.815788
host     parameters                   0.404767  on their way back
         master                      16.714973
         moment m                    16.714973
         moment v                    16.714973
         arena in host memory       148.126172  pinned
node     148 GB of host memory for 1 rank; 1.98 TB may be used
arena: 83,815,787,520 bytes, one allocation
library workspaces: none: they are operands in the arena
of a rank: h100-sxm, 629 MB outside the arena
