-- RUN: sbatch job.lua --no-data
return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  slurm = { time = "24h", version = "22.05",
    sbatch = { nodes = 4, clusters = "b", ["mail-typ"] = "END", exclusive = "topo" }, srun = { export = "ALL" } },
}
-- >>> exit 1
job.lua:6:37: error[slurm-option]: --exclusive=topo (slurm.sbatch; job:
    job.lua:7:14) needs Slurm 24.05; slurm.version is 22.05
    6 |   slurm = { time = "24h", version = "22.05",
      |                                     ^~~~~~~
job.lua:7:14: error[slurm-option]: slurm.sbatch: --clusters follows from
    SLURM_CLUSTERS in the environment, which status and cancel need as well
    7 |     sbatch = { nodes = 4, clusters = "b", ["mail-typ"] = "END", exclusive = "topo" }, srun
      |              ^
job.lua:7:14: error[slurm-option]: slurm.sbatch: --nodes follows from
    cluster.nodes
    7 |     sbatch = { nodes = 4, clusters = "b", ["mail-typ"] = "END", exclusive = "topo" }, srun
      |              ^
job.lua:7:14: error[slurm-option]: slurm.sbatch: Slurm has no option --mail-typ;
    did you mean --mail-type?
    7 |     sbatch = { nodes = 4, clusters = "b", ["mail-typ"] = "END", exclusive = "topo" }, srun
      |              ^
job.lua:7:94: error[slurm-option]: slurm.srun: --export is an option of sbatch:
    slurm.sbatch
    7 |  = "END", exclusive = "topo" }, srun = { export = "ALL" } },
      |                                        ^
5 errors
