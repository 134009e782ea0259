-- RUN: check job.lua
return job {
  model = { "gpt2", layers = 4, width = 64, heads = 4, vocab = 64, positions = 16 },
  data = "synthetic",
  train = { batch = "8 sequences", steps = 10, microbatch = 1 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "dgx-a100", hwloc = "absent.xml" },
  parallel = { tp = 2 },
}
-- >>> exit 1
absent.xml: error[topology-file]: cannot be read: No such file or directory
        fix: on that machine: lockstep topology gather -o node.xml
    job.lua:6:35: note: named here
