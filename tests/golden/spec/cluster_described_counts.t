-- RUN: explain job.lua cluster
return job {
  model = { "gpt2", layers = 4, width = 64, heads = 4, vocab = 64, positions = 16 },
  data = "synthetic",
  train = { batch = "8 sequences", steps = 10, microbatch = 1 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = { "./c.lua", nodes = 2 },
  parallel = { tp = 2 },
}
-- FILE: c.lua
return { device = "h100-sxm", nccl_topo = "./node.xml" }
-- FILE: node.xml
<system version="1">
  <cpu numaid="0" affinity="000000ff" arch="x86_64" vendor="AuthenticAMD" familyid="175" modelid="49">
    <pci busid="0000:01:00.0" class="0x060400" link_speed="16 GT/s" link_width="16">
      <pci busid="0000:02:00.0" class="0x030200" vendor="0x10de" device="0x20b2" link_speed="16 GT/s" link_width="16">
        <gpu dev="0" sm="80" rank="0" gdr="1">
          <nvlink target="0000:03:00.0" count="4" tclass="0x030200"/>
        </gpu>
      </pci>
      <pci busid="0000:04:00.0" class="0x020000" link_speed="16 GT/s" link_width="16">
        <nic><net name="mlx5_0" dev="0" speed="200000" port="1" guid="0x1" maxconn="131072" gdr="1"/></nic>
      </pci>
    </pci>
  </cpu>
  <cpu numaid="1" affinity="0000ff00" arch="x86_64" vendor="AuthenticAMD" familyid="175" modelid="49">
    <pci busid="0000:81:00.0" class="0x060400" link_speed="16 GT/s" link_width="16">
      <pci busid="0000:03:00.0" class="0x030200" vendor="0x10de" device="0x20b2" link_speed="16 GT/s" link_width="16">
        <gpu dev="1" sm="80" rank="1" gdr="1">
          <nvlink target="0000:02:00.0" count="4" tclass="0x030200"/>
        </gpu>
      </pci>
      <pci busid="0000:84:00.0" class="0x020000" link_speed="16 GT/s" link_width="16">
        <nic><net name="mlx5_1" dev="1" speed="200000" port="1" guid="0x2" maxconn="131072" gdr="1"/></nic>
      </pci>
    </pci>
  </cpu>
</system>
-- >>> exit 0
cluster                ./c.lua                 job: job.lua:6:15
cluster.nodes          2                       job: job.lua:6:34
cluster.devices        2                       derived: what the cluster's files
                                               describe
cluster.device         h100-sxm                preset: c.lua:1:19
cluster.memory         85.5 GB                 preset:
                                               SPECS/devices/h100-sxm.lua:8:19
cluster.host           none                    derived: not known
cluster.host_bandwidth none                    derived: not known
cluster.host_link      64 GB/s                 preset:
                                               SPECS/devices/h100-sxm.lua:9:46
cluster.disk           none                    derived: not known
cluster.disk_read      none                    derived: not known
cluster.disk_write     none                    derived: not known
cluster.calibration    none                    default
cluster.cores          1                       derived: not known: 1
cluster.intra          none                    derived: not known
cluster.inter          none                    derived: not known
cluster.intra_latency  none                    derived: not known
cluster.inter_latency  none                    derived: not known
cluster.hwloc          none                    default
cluster.nccl_topo      node.xml                preset: c.lua:1:43
cluster.switches       none                    default
cluster.drained        none                    default
cluster.block          1                       derived: none
cluster.taper          1                       derived: none
cluster.network        -                       derived: not known
cluster.software       lockstep                default
cluster.price          none                    default
cluster.mtbf           none                    default
