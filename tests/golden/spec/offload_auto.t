-- RUN: explain job.lua | grep -E "^(memory  |proof|M_opt|auto|node)|moment"
return job {
  model = "llama2-7b",
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 1, context = 4096, steps = 1 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = "bf16",
  cluster = { "dgx-h100", devices = 1 },
  memory = { recompute = "block" },
  offload = "auto",
}
-- >>> exit 0
job.lua: lint[tight-memory]: the arena takes 97.5 % of what a rank has: other
    programs, or a driver that needs more, make the run fail
        fix: memory = { budget = "95%" }
memory   82.7 GB            of 84.8 GB a rank (98 %); packing 0.0 % above bound
proof    ok                 1 rank, 1 class, 0 communicators, 30837 accesses
M_opt    master                      13.476823  the rest is in host memory
         moment m                    13.476823  the rest is in host memory
         moment v                    13.476823  the rest is in host memory
         moment m                    13.476839
         moment v                    13.476839
auto     40.4 GB of states moved: optimizer = { "cpu", most = "40430518272B" }
node     135 GB of host memory for 1 rank; 1.98 TB may be used
