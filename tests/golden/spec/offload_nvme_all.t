-- RUN: explain job.lua | grep -E "^(memory  |offload|proof|file)|exposed|file|parameters |master"
return job {
  model = "llama2-7b",
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 1, context = 4096, steps = 1 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = "bf16",
  cluster = { "dgx-h100", devices = 1 },
  offload = { "nvme", path = "/scratch" },
}
-- >>> exit 0
job.lua:4:49: lint[small-microbatch]: a rank uses 51 % of its memory, and
    larger micro-batches fit: train.microbatch = 4 takes 1.52 s less of 8.28 s a
    step
    4 |   train = { batch = "8 sequences", microbatch = 1, context = 4096, steps = 1 },
      |                                                 ^
        fix: microbatch = 4
model    llama2-7b          6,738,415,616 parameters   42.9 GFLOP/token
memory   42.9 GB            of 84.8 GB a rank (51 %); packing 0.0 % above bound
offload  a step: d2h 27.0 GB in 421 ms, h2d 214 GB in 3.3 s, host in 351 ms,
                            file 389 GB in 8.2 s
         5.9 s of it exposed, 72 % of the step
         lane file works longest; 64 times the tokens a micro-batch would not
proof    ok                 1 rank, 1 class, 0 communicators, 27083 accesses
M_model  parameters                   1.214300  6,738,415,616 x bf16
M_opt    master                       0.000000  in a file
         moment m                     0.000000  in a file
         moment v                     0.000000  in a file
host     parameters                   0.404816  copied when layers read them
         master                       1.619132
file     parameters                  13.478461  copied when layers read them
         master                      26.954760
         file of a rank              94.342742  /scratch
