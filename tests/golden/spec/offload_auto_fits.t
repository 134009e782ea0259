-- RUN: explain job.lua | grep -E "^(memory  |M_opt|auto|host|node)|moment"
return job {
  model = "llama2-7b",
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 1, context = 4096, steps = 1 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = "bf16",
  cluster = { "dgx-h100", devices = 8 },
  memory = { recompute = "block" },
  offload = "auto",
}
-- >>> exit 0
job.lua:8:26: lint[unused-memory]: a rank uses 63 % of its memory, and saves
    more than it must: memory.recompute = "none" takes 71.4 ms less of 408 ms a
    step
    8 |   memory = { recompute = "block" },
      |                          ^~~~~~~
        fix: recompute = "none"
memory   52.4 GB            of 83.6 GB a rank (63 %); packing 0.0 % above bound
M_opt    master                       3.369208
         moment m                     3.369208  fp32; 1/8 (zero 1)
         moment v                     3.369208  fp32; 1/8 (zero 1)
host     pinned                       0.000066  staged micro-batches
