-- RUN: check job.lua
return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = { train = "data/train_*.bin", valid = "data/valid.bin" },
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:3:20: error[data]: data.train: no file matches data/train_*.bin
    3 |   data = { train = "data/train_*.bin", valid = "data/valid.bin" },
      |                    ^~~~~~~~~~~~~~~~~~
    note: lockstep tokenize TEXT -o FOLDER makes token files
job.lua:3:48: error[data]: data.valid: there is no file data/valid.bin
    3 |   data = { train = "data/train_*.bin", valid = "data/valid.bin" },
      |                                                ^~~~~~~~~~~~~~~~
    note: lockstep tokenize TEXT -o FOLDER makes token files
    note: with --no-data, check does not look for the data files
2 errors
