-- RUN: sbatch job.lua --no-data
return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  slurm = { time = "24:00:00", partion = "gpu", env = { ["A-B"] = 1 }, spares = -1, modules = 3 },
}
-- >>> exit 1
job.lua:6:20: error[unit]: slurm.time: expected a duration such as "30m" or
    "1d12h"; got "24:00:00"
    6 |   slurm = { time = "24:00:00", partion = "gpu", env = { ["A-B"] = 1 }, spares = -1, module
      |                    ^~~~~~~~~~
        fix: time = "24h"
job.lua:6:32: error[unknown-key]: slurm.partion: no such key; did you mean
    'partition'?
    6 |   slurm = { time = "24:00:00", partion = "gpu", env = { ["A-B"] = 1 }, spares = -1, module
      |                                ^~~~~~~
        fix: partition
job.lua:6:55: error[name]: slurm.env: "A-B" is no name of the environment:
    letters, digits and _
    6 |   slurm = { time = "24:00:00", partion = "gpu", env = { ["A-B"] = 1 }, spares = -1, module
      |                                                       ^
job.lua:6:81: error[range]: slurm.spares is 0 to 65536; got -1
    6 | "gpu", env = { ["A-B"] = 1 }, spares = -1, modules = 3 },
      |                                        ^~
job.lua:6:95: error[wrong-type]: slurm.modules: expected a text or a list of
    texts: { "gcc/12", "cuda/12.4" }; got 3
    6 |  ["A-B"] = 1 }, spares = -1, modules = 3 },
      |                                        ^
5 errors
