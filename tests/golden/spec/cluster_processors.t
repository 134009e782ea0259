-- RUN: explain job.lua --rank 3 --no-data
-- Two sockets of two cores, two CPUs each: a rank has a socket, and one CPU of each of its cores.
return job {
  model = { "gpt2", layers = 4, width = 64, heads = 4, vocab = 64, positions = 16 },
  data = "synthetic",
  train = { batch = "8 sequences", steps = 10, microbatch = 1 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = "./c.lua",
}
-- FILE: c.lua
return { device = "cpu", hwloc = "./node.xml", devices = 2, nodes = 2 }
-- FILE: node.xml
<topology version="2.0">
<object type="Machine" os_index="0" cpuset="0x000000ff" complete_cpuset="0x000000ff" nodeset="0x00000003" complete_nodeset="0x00000003" allowed_cpuset="0x000000ff" allowed_nodeset="0x00000003" gp_index="99">
<object type="Package" os_index="0" cpuset="0x0000000f" complete_cpuset="0x0000000f" nodeset="0x00000001" complete_nodeset="0x00000001" gp_index="8">
<object type="NUMANode" os_index="0" cpuset="0x0000000f" complete_cpuset="0x0000000f" nodeset="0x00000001" complete_nodeset="0x00000001" gp_index="1" local_memory="4294967296"/>
<object type="Core" os_index="0" cpuset="0x00000003" complete_cpuset="0x00000003" nodeset="0x00000001" complete_nodeset="0x00000001" gp_index="4">
<object type="PU" os_index="0" cpuset="0x00000001" complete_cpuset="0x00000001" nodeset="0x00000001" complete_nodeset="0x00000001" gp_index="2"/>
<object type="PU" os_index="1" cpuset="0x00000002" complete_cpuset="0x00000002" nodeset="0x00000001" complete_nodeset="0x00000001" gp_index="3"/>
</object>
<object type="Core" os_index="1" cpuset="0x0000000c" complete_cpuset="0x0000000c" nodeset="0x00000001" complete_nodeset="0x00000001" gp_index="7">
<object type="PU" os_index="2" cpuset="0x00000004" complete_cpuset="0x00000004" nodeset="0x00000001" complete_nodeset="0x00000001" gp_index="5"/>
<object type="PU" os_index="3" cpuset="0x00000008" complete_cpuset="0x00000008" nodeset="0x00000001" complete_nodeset="0x00000001" gp_index="6"/>
</object>
</object>
<object type="Package" os_index="1" cpuset="0x000000f0" complete_cpuset="0x000000f0" nodeset="0x00000002" complete_nodeset="0x00000002" gp_index="16">
<object type="NUMANode" os_index="1" cpuset="0x000000f0" complete_cpuset="0x000000f0" nodeset="0x00000002" complete_nodeset="0x00000002" gp_index="9" local_memory="4294967296"/>
<object type="Core" os_index="2" cpuset="0x00000030" complete_cpuset="0x00000030" nodeset="0x00000002" complete_nodeset="0x00000002" gp_index="12">
<object type="PU" os_index="4" cpuset="0x00000010" complete_cpuset="0x00000010" nodeset="0x00000002" complete_nodeset="0x00000002" gp_index="10"/>
<object type="PU" os_index="5" cpuset="0x00000020" complete_cpuset="0x00000020" nodeset="0x00000002" complete_nodeset="0x00000002" gp_index="11"/>
</object>
<object type="Core" os_index="3" cpuset="0x000000c0" complete_cpuset="0x000000c0" nodeset="0x00000002" complete_nodeset="0x00000002" gp_index="15">
<object type="PU" os_index="6" cpuset="0x00000040" complete_cpuset="0x00000040" nodeset="0x00000002" complete_nodeset="0x00000002" gp_index="13"/>
<object type="PU" os_index="7" cpuset="0x00000080" complete_cpuset="0x00000080" nodeset="0x00000002" complete_nodeset="0x00000002" gp_index="14"/>
</object>
</object>
</object>
</topology>
-- >>> exit 0
rank     3 of 4
node     1 of 2, ./c.lua
device   the node's processor, NUMA node 1
cores    4,6
NIC      none is described; its rate is not known
is       tp 0 of 1, cp 0 of 1, pp 0 of 1, dp 3 of 4
layers   begin, h 0-3, end
memory   2.10 MB: parameters 414 kB, gradients 828 kB, master 208 kB, moment m
           208 kB, moment v 208 kB, activations 133 kB, activation gradients
           4.10 kB, scratch of one call 92.6 kB, micro-batches 640 B, what
           changes between steps 312 B

talks along    with ranks          over                 GB/s one way sent a step
dp             0-3                 the network                     ?     932 kB

no rate between ranks is known, so no order is better than another: the usual
    one is kept (cluster.intra and cluster.inter set the rates)
