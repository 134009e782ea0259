-- RUN: explain job.lua -q --rank 0 | sed -n "/^memory/,/^it talks/p"
return job {
  model = "llama2-7b",
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 1, context = 4096, steps = 1 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = "bf16",
  cluster = { "dgx-h100", devices = 1 },
  memory = { recompute = "block" },
  offload = { optimizer = { "nvme", share = "50%" }, path = "/scratch" },
}
-- >>> exit 0
memory   82.7 GB: parameters 13.5 GB, gradients 27.0 GB, master 13.5 GB, moment
           m 13.5 GB, moment v 13.5 GB, activations 1.49 GB, activation
           gradients 67.1 MB, scratch of one call 304 MB, micro-batches 295 kB,
           what changes between steps 104 B
host     8.50 GB: parameters 1.21 GB, gradients 2.43 GB, master 1.62 GB, moment
           m 1.62 GB, moment v 1.62 GB, micro-batches 524 kB, what changes
           between steps 416 B, control, mirrored 104 B
file     40.4 GB: master 13.5 GB, moment m 13.5 GB, moment v 13.5 GB

it talks to no other rank
