-- RUN: explain job.lua --launch --no-data
return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  slurm = { time = "24h",
    env = { NCCL_IB_TIMEOT = 22, NCCL_NEW_IN_2031 = 1, FI_PROVIDR = "efa", NCCL_BLOCKING_WAIT = 1, NCCL_DEBUG = "INFO",
            NCCL_IB_TIMEOUT = "0x16", http_proxy = "proxy:80", OMPI_MCA_btl = "tcp,self", NCCL_TREE_THRESHOLD = false } },
}
-- >>> exit 0
sbatch
  --job-name=job                    name; derived: the file's name
  --nodes=1                         cluster.nodes; derived: one machine
  --ntasks-per-node=1               cluster.devices; derived: one rank a machine
  --cpus-per-task=2                 cluster.cores / cluster.devices; derived:
                                    this machine's
  --time=1-00:00:00                 slurm.time; job: job.lua:6:20
  --exclusive                       default; slurm.sbatch = { exclusive = false
                                    }
  --mem=0                           default: all of a node; slurm.sbatch.mem
  --export=ALL                      default; slurm.sbatch.export
  --requeue                         slurm.requeue; default
  --output=runs/job/slurm/%j.log    log.dir; default
  --open-mode=append                one log over all starts of the job
  --signal=B:USR1@81                2 steps of 10.0 s, a checkpoint of 449 kB in
                                    449 us, slurm.margin 60 s
srun, once for all ranks
  --nodes=1                         the plan's places
  --ntasks=1                        the plan's ranks
  --ntasks-per-node=1               the plan's places
  --cpus-per-task=2                 repeated: srun does not take sbatch's
                                    everywhere
  --distribution=block:block        the plan's places
  --mpi=pmix                        slurm.mpi; default
  --kill-on-bad-exit=0              ranks end each other, and say why first
  --wait=10                         ranks leave together: one that does not is
                                    stuck
  --export=ALL                      the environment of the batch script
  --unbuffered                      lines come as they are written
environment
  SLURM_PMIX_FENCE=ring             default: the tree of Slurm 20.11 and later
                                    is no barrier on few nodes
  OMP_NUM_THREADS=1                 default: the plan counts threads itself
  FI_PROVIDR=efa                    slurm.env; job: job.lua:7:11
  NCCL_BLOCKING_WAIT=1              slurm.env; job: job.lua:7:11
  NCCL_DEBUG=INFO                   slurm.env; job: job.lua:7:11
  NCCL_IB_TIMEOT=22                 slurm.env; job: job.lua:7:11
  NCCL_IB_TIMEOUT=0x16              slurm.env; job: job.lua:7:11
  NCCL_NEW_IN_2031=1                slurm.env; job: job.lua:7:11
  OMPI_MCA_btl=tcp,self             slurm.env; job: job.lua:7:11
  http_proxy=proxy:80               slurm.env; job: job.lua:7:11
before ranks start: a quick look at nodes; slurm.preflight
a failure: 3 retries in the allocation, then back into the queue
the limit: ranks save, then back into the queue
job.lua:7:11: lint[slurm-env]: slurm.env: NCCL has no NCCL_IB_TIMEOT that is
    known here; did you mean NCCL_IB_TIMEOUT?
    7 |     env = { NCCL_IB_TIMEOT = 22, NCCL_NEW_IN_2031 = 1, FI_PROVIDR = "efa", NCCL_BLOCKING_W
      |           ^
job.lua:7:11: lint[slurm-env]: slurm.env: NCCL has no NCCL_NEW_IN_2031 that is
    known here; it would say nothing of it
    7 |     env = { NCCL_IB_TIMEOT = 22, NCCL_NEW_IN_2031 = 1, FI_PROVIDR = "efa", NCCL_BLOCKING_W
      |           ^
job.lua:7:11: lint[slurm-env]: slurm.env: NCCL_BLOCKING_WAIT is a name of
    PyTorch's; here ranks watch each other
    7 |     env = { NCCL_IB_TIMEOT = 22, NCCL_NEW_IN_2031 = 1, FI_PROVIDR = "efa", NCCL_BLOCKING_W
      |           ^
job.lua:7:11: lint[slurm-env]: slurm.env: libfabric has no FI_PROVIDR that is
    known here; did you mean FI_PROVIDER?
    7 |     env = { NCCL_IB_TIMEOT = 22, NCCL_NEW_IN_2031 = 1, FI_PROVIDR = "efa", NCCL_BLOCKING_W
      |           ^
