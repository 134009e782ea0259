-- AWS p4d.24xlarge: eight A100 40GB on NVLink 3, 400 Gb/s of EFA for all. Four cards of 100 Gb/s, one behind each PCIe
-- switch with two GPUs (p4d-24xl-topo.xml of github.com/aws/aws-ofi-nccl); 96 vCPUs on 48 cores. Latencies are those
-- of dgx-a100, which no EFA undercuts. Disks: 8 x 1 TB, 16 GB/s of reads for all (EC2 P4 page); half of it for writes
-- is a guess.
return { "dgx-a100", device = "a100-sxm-40", cores = 48, inter = "50Gb/s", host = "1152GiB",
         disk = "8TB", disk_read = "16GB/s", disk_write = "8GB/s", network = "efa" }
