-- HPE Cray EX235a as of Frontier and LUMI: eight dies of four MI250X, a 200 Gb/s Slingshot port for each two. Every
-- die is a rank (Frontier User Guide of OLCF); frontier.xml says which are joined. A group of 128 nodes has 512 x
-- 25 GB/s from them and 292 x 25 GB/s to other groups: with switches, taper = 2.
return { nodes = 1, device = "mi250x", cores = 64, host = "512GiB", host_bandwidth = "205GB/s", nccl_topo = "./frontier.xml",
         network = "slingshot" }
