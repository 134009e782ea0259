-- RUN: check job.lua --no-data
return job {
  model = { "gpt2", layers = 2, width = 64, heads = 4, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = "dgx-h100",
  slurm = { env = { CUDA_VISIBLE_DEVICES = "0,1", OMP_NUM_THREADS = "4", LOCKSTEP_GRAPH = "1" } },
}
-- >>> exit 1
job.lua:7:19: error[slurm-env]: slurm.env: CUDA_VISIBLE_DEVICES would contradict
    the plan: it says which GPU each rank has (cluster.devices, parallel.order),
    and Slurm hides the others
    7 |   slurm = { env = { CUDA_VISIBLE_DEVICES = "0,1", OMP_NUM_THREADS = "4", LOCKSTEP_GRAPH = 
      |                   ^
        fix: remove CUDA_VISIBLE_DEVICES
job.lua:7:19: lint[slurm-env]: slurm.env: Lockstep has no LOCKSTEP_GRAPH that
    is known here; did you mean LOCKSTEP_GRAPHS?
    7 |   slurm = { env = { CUDA_VISIBLE_DEVICES = "0,1", OMP_NUM_THREADS = "4", LOCKSTEP_GRAPH = 
      |                   ^
job.lua:7:19: lint[slurm-env]: slurm.env: OMP_NUM_THREADS is not read by ranks:
    they have the threads of the plan, which cluster.cores sets
    7 |   slurm = { env = { CUDA_VISIBLE_DEVICES = "0,1", OMP_NUM_THREADS = "4", LOCKSTEP_GRAPH = 
      |                   ^
