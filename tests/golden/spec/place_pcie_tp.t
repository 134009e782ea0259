-- RUN: explain job.lua --map
return job {
  model = { "gpt2", layers = 4, width = 96, heads = 12, vocab = 64, positions = 16 },
  data = "synthetic",
  train = { batch = "96 sequences", steps = 10, microbatch = 1 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "./c.lua", nodes = 2 },
  parallel = { tp = 2 },
}
-- FILE: c.lua
return { device = "l40s", nccl_topo = "./node.xml" } -- 6 GPUs, no links between them, 3 NICs
-- FILE: node.xml
<system version="1">
<cpu numaid="0" affinity="0000ffff" arch="x86_64" vendor="AuthenticAMD" familyid="143" modelid="49">
<pci busid="0000:01:00.0" class="0x030200" vendor="0x10de" device="0x26b9" link_speed="16 GT/s" link_width="16">
<gpu dev="0" sm="80" rank="0" gdr="1">
</gpu>
</pci>
<pci busid="0000:02:00.0" class="0x030200" vendor="0x10de" device="0x26b9" link_speed="16 GT/s" link_width="16">
<gpu dev="1" sm="80" rank="1" gdr="1">
</gpu>
</pci>
<pci busid="0000:03:00.0" class="0x030200" vendor="0x10de" device="0x26b9" link_speed="16 GT/s" link_width="16">
<gpu dev="2" sm="80" rank="2" gdr="1">
</gpu>
</pci>
<pci busid="0000:04:00.0" class="0x030200" vendor="0x10de" device="0x26b9" link_speed="16 GT/s" link_width="16">
<gpu dev="3" sm="80" rank="3" gdr="1">
</gpu>
</pci>
<pci busid="0000:0a:00.0" class="0x020700" link_speed="16 GT/s" link_width="16">
<nic>
<net name="mlx5_0" dev="0" speed="200000" port="1" guid="0x0" maxconn="131072" gdr="1"/>
</nic>
</pci>
<pci busid="0000:0b:00.0" class="0x020700" link_speed="16 GT/s" link_width="16">
<nic>
<net name="mlx5_1" dev="1" speed="200000" port="1" guid="0x1" maxconn="131072" gdr="1"/>
</nic>
</pci>
</cpu>
<cpu numaid="1" affinity="ffff0000" arch="x86_64" vendor="AuthenticAMD" familyid="143" modelid="49">
<pci busid="0000:84:00.0" class="0x030200" vendor="0x10de" device="0x26b9" link_speed="16 GT/s" link_width="16">
<gpu dev="4" sm="80" rank="4" gdr="1">
</gpu>
</pci>
<pci busid="0000:85:00.0" class="0x030200" vendor="0x10de" device="0x26b9" link_speed="16 GT/s" link_width="16">
<gpu dev="5" sm="80" rank="5" gdr="1">
</gpu>
</pci>
<pci busid="0000:8a:00.0" class="0x020700" link_speed="16 GT/s" link_width="16">
<nic>
<net name="mlx5_2" dev="2" speed="200000" port="1" guid="0x2" maxconn="131072" gdr="1"/>
</nic>
</pci>
</cpu>
</system>
-- >>> exit 0
12 ranks = tp 2 x cp 1 x pp 1 x dp 6
axes fill nodes in this order: tp cp pp dp
nodes 0-1: 6 ranks each on ./c.lua
below, a-b is on every node, and a..b goes a step further on each

nodes       ranks         tp           dp
0-1         0-11          0-1          0-2..3-5

node 0, GPU   0   1   2   3   4   5
         tp   0   1   0   1   0   1
         dp   0   0   1   1   2   2

every rank by its replica, 0-9 a-z, from node to node
n0     001122 334455
job.lua:7:21: lint[tp-over-pcie]: tp 2 sums activations in every layer over
    links of 24 GB/s, as PCIe has, 4.01 ms of 6.99 ms a step: pp or zero
    communicate less; tp_across = true allows it
    7 |   parallel = { tp = 2 },
      |                     ^
        fix: tp = 1
