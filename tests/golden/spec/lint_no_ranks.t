-- RUN: check job.lua --no-data
return job {
  model = { "gpt2", layers = 2, width = 64, heads = 4, vocab = 256, positions = 64 },
  data = "synthetic",
  train = { batch = "8 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = { "bf16", reduce = "fp32" },
  parallel = { bucket = "1MB", order = "tp cp pp dp" },
  cluster = { "here", intra = "10GB/s" },
  slurm = { gpu_type = "h100" },
}
-- >>> exit 0
job.lua:6:34: lint[no-effect]: precision.reduce: a single rank communicates
    with no other
    6 |   precision = { "bf16", reduce = "fp32" },
      |                                  ^~~~~~
        fix: remove reduce
job.lua:7:25: lint[no-effect]: parallel.bucket: a single rank communicates with
    no other
    7 |   parallel = { bucket = "1MB", order = "tp cp pp dp" },
      |                         ^~~~~
        fix: remove bucket
job.lua:7:40: lint[no-effect]: parallel.order: a single rank communicates with
    no other
    7 |   parallel = { bucket = "1MB", order = "tp cp pp dp" },
      |                                        ^~~~~~~~~~~~~
        fix: remove order
job.lua:8:31: lint[no-effect]: cluster.intra: a node has one device
    8 |   cluster = { "here", intra = "10GB/s" },
      |                               ^~~~~~~~
        fix: remove intra
job.lua:9:24: lint[no-effect]: slurm.gpu_type: the job has no GPUs
    9 |   slurm = { gpu_type = "h100" },
      |                        ^~~~~~
        fix: remove gpu_type
job.lua: right
