-- RUN: check job.lua
return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = { train = "/dev/zero", format = "u16" },
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:3:20: error[data]: /dev/zero is no file: samples are read from all over
    it, which a pipe or a device does not allow
    3 |   data = { train = "/dev/zero", format = "u16" },
      |                    ^~~~~~~~~~~
