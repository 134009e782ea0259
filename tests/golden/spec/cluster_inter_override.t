-- RUN: explain job.lua cluster -D cluster.inter=800Gb/s -D cluster.cores=8
return job {
  model = "llama3-8b",
  data = "synthetic",
  train = { batch = "32 sequences", context = 4096, steps = 10 },
  optimizer = { "adamw", lr = 1e-4 },
  cluster = { "dgx-h100", nodes = 2 },
}
-- >>> exit 0
cluster                dgx-h100                job: job.lua:6:15
cluster.nodes          2                       job: job.lua:6:35
cluster.devices        8                       preset:
                                               SPECS/clusters/dgx-h100.lua:6:31
cluster.device         h100-sxm                preset:
                                               SPECS/clusters/dgx-h100.lua:6:43
cluster.memory         85.5 GB                 preset:
                                               SPECS/devices/h100-sxm.lua:8:19
cluster.host           2.20 TB                 preset:
                                               SPECS/clusters/dgx-h100.lua:7:67
cluster.host_bandwidth 614 GB/s                preset:
                                               SPECS/clusters/dgx-h100.lua:7:92
cluster.host_link      64 GB/s                 preset:
                                               SPECS/devices/h100-sxm.lua:9:46
cluster.disk           30.7 TB                 preset:
                                               SPECS/clusters/dgx-h100.lua:8:17
cluster.disk_read      56 GB/s                 preset:
                                               SPECS/clusters/dgx-h100.lua:8:39
cluster.disk_write     32 GB/s                 preset:
                                               SPECS/clusters/dgx-h100.lua:8:62
cluster.calibration    none                    default
cluster.cores          8                       -D cluster.cores=8
cluster.intra          450 GB/s                preset:
                                               SPECS/clusters/dgx-h100.lua:6:76
cluster.inter          100 GB/s                -D cluster.inter=800Gb/s
cluster.intra_latency  470 ns                  preset:
                                               SPECS/clusters/dgx-h100.lua:7:26
cluster.inter_latency  2700 ns                 preset:
                                               SPECS/clusters/dgx-h100.lua:7:51
cluster.hwloc          none                    default
cluster.nccl_topo      none                    default
cluster.switches       none                    default
cluster.drained        none                    default
cluster.block          1                       derived: none
cluster.taper          1                       derived: none
cluster.network        infiniband              preset:
                                               SPECS/clusters/dgx-h100.lua:8:82
cluster.software       lockstep                default
cluster.price          none                    default
cluster.mtbf           none                    default
