-- RUN: explain job.lua | grep -E "^offload|switches"
return job {
  model = "llama2-7b",
  data = "synthetic",
  train = { batch = "2 sequences", microbatch = 1, context = 4096, steps = 1 },
  optimizer = { "adamw", lr = 1e-3 },
  precision = "bf16",
  parallel = { zero = 1 },
  cluster = { "./c.lua", nodes = 1 },
  offload = { optimizer = "cpu", update = "host" },
}
-- FILE: c.lua
return { device = "a100-sxm-80", host = "1TB", host_bandwidth = "200GB/s", nccl_topo = "./node.xml" }
-- FILE: node.xml
<system version="1">
  <cpu numaid="0" affinity="000000ff" arch="x86_64" vendor="AuthenticAMD" familyid="175" modelid="49">
    <pci busid="0000:01:00.0" class="0x060400" link_speed="16 GT/s" link_width="16">
      <pci busid="0000:02:00.0" class="0x030200" vendor="0x10de" device="0x20b2" link_speed="16 GT/s" link_width="16">
        <gpu dev="0" sm="80" rank="0" gdr="1"/>
      </pci>
      <pci busid="0000:03:00.0" class="0x030200" vendor="0x10de" device="0x20b2" link_speed="16 GT/s" link_width="16">
        <gpu dev="1" sm="80" rank="1" gdr="1"/>
      </pci>
    </pci>
  </cpu>
</system>
-- >>> exit 0
offload  a step: d2h 13.5 GB in 842 ms, h2d 6.74 GB in 421 ms, host in 1.0 s
         PCIe switches are shared: a device has 50 % of its link
