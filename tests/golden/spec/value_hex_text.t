return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "0x10 sequences", steps = "inf", microbatch = "nan" },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 1
job.lua:4:21: error[unit]: train.batch: expected "512Ki tokens", "512 sequences"
    or "64 samples"; got "0x10 sequences"
    4 |   train = { batch = "0x10 sequences", steps = "inf", microbatch = "nan" },
      |                     ^~~~~~~~~~~~~~~~
job.lua:4:47: error[unit]: train.steps: expected 1000, "10Gi tokens" or "3
    epochs"; got "inf"
    4 |   train = { batch = "0x10 sequences", steps = "inf", microbatch = "nan" },
      |                                               ^~~~~
job.lua:4:67: error[wrong-type]: train.microbatch: expected a whole number such
    as 8, 2^19 or "16Mi"; got "nan"
    4 | equences", steps = "inf", microbatch = "nan" },
      |                                        ^~~~~
3 errors
