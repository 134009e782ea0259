-- RUN: explain job.lua | sed -n "/^auto/,/^node/p"
return job {
  model = "llama2-7b",
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 8, context = 4096, steps = 1 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = "bf16",
  cluster = { "dgx-h100", devices = 1 },
  memory = { budget = "80GB" },
  offload = "auto",
}
-- >>> exit 0
auto     57.4 GB of states moved: optimizer = { "cpu", most = "57430720512B" };
                            memory.recompute = "block"
         recompute none, 80.9 GB of states with their gradients, 61.1 GB of what
                            forward keeps moved: 3.28 s a step
         recompute selective, 80.9 GB of states with their gradients, 42.8 GB of
                            what forward keeps moved: 3.00 s a step
         recompute block, 57.4 GB of states moved: 2.89 s a step, taken
         a layer less: 941 MB too much; one more: 2.43 GB less, and a step of
                            2.89 s
node     158 GB of host memory for 1 rank; 1.98 TB may be used
