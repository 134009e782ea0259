-- RUN: explain job.lua -q | sed -n "/^time/p;/^auto/,/^node/p"
-- Three layers of what forward keeps are enough. Two need more than none, because of the buffers of copies; four are too many.
return job {
  model = { "gpt2", layers = 6, width = 512, heads = 4, vocab = 64, positions = 512 },
  data = "synthetic",
  train = { batch = "2 sequences", microbatch = 1, steps = 20 },
  optimizer = { "adamw", lr = 3e-3 },
  precision = "bf16",
  cluster = { "dgx-a100", devices = 2, host_link = "150GB/s", host_bandwidth = "2000GB/s" },
  memory = { budget = "152651380B" },
  checkpoint = { every = "never" },
  offload = "auto",
}
-- >>> exit 0
time     1.19 ms            a step, expected   858,423 tokens/s
auto     115 MB of states with their gradients, 25.2 MB of what forward keeps
                            moved: optimizer = { "cpu", most = "115064832B" },
                            grads = "cpu", activations = { "cpu", most =
                            "25217024B" }; memory.recompute = "none"
         recompute none, 115 MB of states with their gradients, 25.2 MB of what
                            forward keeps moved: 1.2 ms a step, taken
         a layer less: 1.61 MB too much; one more: 197 kB less, and a step of
                            1.2 ms
node     434 MB of host memory for 2 ranks; 1.98 TB may be used
