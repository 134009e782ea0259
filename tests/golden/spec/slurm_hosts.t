-- RUN: sbatch job.lua
return job {
  model = { "gpt2", layers = 4, width = 64, heads = 4, vocab = 64, positions = 16 },
  data = "synthetic",
  train = { batch = "12 sequences", steps = 10, microbatch = 1 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "dgx-a100", devices = 4, switches = "tree.conf" },
  slurm = { time = "1h" },
}
-- FILE: tree.conf
SwitchName=leaf Nodes=n1,n$2,'x;y'
-- >>> exit 1
job.lua:6:51: error[topology-hosts]: "n$2" is no name of a host: letters,
    digits, '.', '_' and '-'
    6 |   cluster = { "dgx-a100", devices = 4, switches = "tree.conf" },
      |                                                   ^~~~~~~~~~~
