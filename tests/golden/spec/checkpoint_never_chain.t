return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  checkpoint = { every = "never" },
  slurm = { time = "1h", chain = 3 },
}
-- >>> exit 1
job.lua:7:34: error[nothing-saved]: slurm.chain starts the job again from its
    last checkpoint; checkpoint.every is "never"
    7 |   slurm = { time = "1h", chain = 3 },
      |                                  ^
        fix: remove chain
