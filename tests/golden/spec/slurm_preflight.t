-- RUN: sbatch job.lua --no-data
return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  slurm = { time = "24h", preflight = "ful" },
}
-- >>> exit 1
job.lua:6:39: error[unknown-word]: slurm.preflight: "ful" is not one of: full
    quick off
    6 |   slurm = { time = "24h", preflight = "ful" },
      |                                       ^~~~~
        fix: preflight = "full"
