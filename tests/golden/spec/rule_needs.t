-- RUN: check job.lua --no-data
return job {
  model = { "gpt2", layers = 2, width = 64, heads = 4, vocab = 256, positions = 64 },
  data = { "synthetic", shuffle = false },
  train = { batch = "8 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
  schedule = { warmup_floor = 0.1 },
  parallel = { tp_across = true },
  checkpoint = { every = "never", keep = 3 },
  slurm = { spares = 1, retries = 0, mounts = { "/a:/b" }, container_by = "apptainer" },
}
-- >>> exit 1
job.lua:3:35: error[conflict]: data.shuffle is for tokens and table; data is
    "synthetic"
    3 |   data = { "synthetic", shuffle = false },
      |                                   ^~~~~
        fix: remove shuffle
job.lua:6:31: error[conflict]: schedule.warmup_floor is for warmup above 0;
    warmup is 0
    6 |   schedule = { warmup_floor = 0.1 },
      |                               ^~~
        fix: remove warmup_floor
job.lua:7:28: error[conflict]: parallel.tp_across is for tp above 1; tp is 1
    7 |   parallel = { tp_across = true },
      |                            ^~~~
        fix: remove tp_across
job.lua:8:42: error[conflict]: checkpoint.keep is for checkpoints that are
    written; every is "never"
    8 |   checkpoint = { every = "never", keep = 3 },
      |                                          ^
        fix: remove keep
job.lua:9:22: error[conflict]: slurm.spares is for retries above 0; retries is 0
    9 |   slurm = { spares = 1, retries = 0, mounts = { "/a:/b" }, container_by = "apptainer" },
      |                      ^
        fix: remove spares
job.lua:9:47: error[conflict]: slurm.mounts is for slurm.container; there is
    none
    9 |   slurm = { spares = 1, retries = 0, mounts = { "/a:/b" }, container_by = "apptainer" },
      |                                               ^
        fix: remove mounts
job.lua:9:75: error[conflict]: slurm.container_by is for slurm.container; there
    is none
    9 | , mounts = { "/a:/b" }, container_by = "apptainer" },
      |                                        ^~~~~~~~~~~
        fix: remove container_by
7 errors
