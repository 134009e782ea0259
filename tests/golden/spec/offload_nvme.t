-- RUN: explain job.lua | grep -E "^(memory  |offload|proof|M_opt|host|file|node)|exposed|file|moment|master"
return job {
  model = "llama2-7b",
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 1, context = 4096, steps = 1 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = "bf16",
  cluster = { "dgx-h100", devices = 1, disk_read = "28GB/s", disk_write = "20GB/s" },
  offload = { optimizer = { "nvme", share = "60%" }, path = "/scratch" },
}
-- >>> exit 0
job.lua: lint[tight-memory]: the arena takes 98.8 % of what a rank has: other
    programs, or a driver that needs more, make the run fail; the fix takes 555
    ms more of 6.23 s a step
        fix: memory = { budget = "95%" }
memory   83.8 GB            of 84.8 GB a rank (99 %); packing 0.0 % above bound
offload  a step: d2h 16.7 GB in 261 ms, h2d 8.36 GB in 131 ms, host in 204 ms,
                            file 100 GB in 4.3 s
         3.8 s of it exposed, 61 % of the step
         lane file works longest; hidden with 64 times the tokens a micro-batch,
proof    ok                 1 rank, 1 class, 0 communicators, 26491 accesses
M_opt    master                      10.238689  the rest is in a file
         moment m                    10.238689  the rest is in a file
         moment v                    10.238689  the rest is in a file
host     parameters                   1.214300  on their way back
         master                       1.619132
         moment m                     1.619132
         moment v                     1.619132
node     8.50 GB of host memory for 1 rank; 1.98 TB may be used
file     master                      16.715678
         moment m                    16.715678
         moment v                    16.715678
         file of a rank              50.147033  /scratch
