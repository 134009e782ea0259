-- RUN: explain job.lua slurm --no-data
return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 2, steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  checkpoint = { path = "{scratch}/{name}" },
  slurm = { "./site.lua", time = "24h", env = { NCCL_DEBUG = "INFO", NCCL_NET = false }, partition = "small" },
}
-- FILE: site.lua
return { "cpu", partition = "large", scratch = "/scratch/us", env = { NCCL_DEBUG = "WARN", NCCL_NET = "IB" } }
-- >>> exit 0
slurm                  ./site.lua              job: job.lua:7:13
slurm.time             86400s                  job: job.lua:7:34
slurm.partition        small                   job: job.lua:7:102
slurm.partitions       none                    default
slurm.features         none                    default
slurm.account          none                    default
slurm.qos              none                    default
slurm.exclude          none                    default
slurm.spares           0                       default
slurm.elastic          none                    default
slurm.retries          3                       default
slurm.requeue          true                    default
slurm.chain            none                    derived
slurm.margin           60s                     default
slurm.write            1 GB/s                  default
slurm.preflight        quick                   default
slurm.modules          none                    default
slurm.purge            true                    default
slurm.setup            none                    default
slurm.container        none                    default
slurm.container_by     pyxis                   default
slurm.mounts           none                    default
slurm.env              NCCL_DEBUG=INFO NCCL_NET=false job: job.lua:7:47
slurm.umask            none                    default
slurm.scratch          /scratch/us             preset: site.lua:1:48
slurm.sbatch           exclusive=true hint=nomultithread mem=0 preset:
                                               SPECS/sites/cpu.lua:2:34
slurm.srun             none                    default
slurm.wrap             none                    default
slurm.gpus             none                    preset:
                                               SPECS/sites/cpu.lua:2:17
slurm.gpu_type         none                    default
slurm.block            none                    default
slurm.mpi              pmix                    default
slurm.version          none                    default
slurm.programs         none                    derived
