-- RUN: check job.lua --no-data -D cluster.disk_write=1B/s
return job {
  model = "llama2-7b",
  data = "synthetic",
  train = { batch = "8 sequences", microbatch = 1, context = 4096, steps = 1 },
  optimizer = { "adamw", lr = 1e-3 },
  offload = { "nvme", path = "/x" },
  cluster = { "dgx-h100", devices = 1, host = "2TiB", host_link = "999kB/s", inter = "1MB/s" },
}
-- >>> exit 1
-D cluster.disk_write=1B/s: error[range]: cluster.disk_write is 1000000 to 1e+18
    bytes/s; got "1B/s"
job.lua:7:67: error[range]: cluster.host_link is 1000000 to 1e+18 bytes/s; got
    "999kB/s"
    7 | evices = 1, host = "2TiB", host_link = "999kB/s", inter = "1MB/s" },
      |                                        ^~~~~~~~~
2 errors
