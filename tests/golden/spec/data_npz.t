-- RUN: check job.lua
-- SETUP: head -c 500 /dev/zero > a.npz
return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = { train = "a.npz", format = "u16" },
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:3:20: error[data]: a.npz: is a NumPy archive, not raw tokens: write the
    ids out raw, numpy.load(FILE).astype("uint16").tofile("train.u16"), and say
    format = "u16"
    3 |   data = { train = "a.npz", format = "u16" },
      |                    ^~~~~~~
