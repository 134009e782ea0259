-- RUN: compile job.lua --no-data
return job {
  model = { "gpt2", layers = 4, width = 64, heads = 4, vocab = 64, positions = 16 },
  data = "synthetic",
  train = { batch = "32 sequences", steps = 10, microbatch = 1 },
  optimizer = { "adamw", lr = 1e-3 },
  cluster = "./c.lua",
}
-- FILE: c.lua
return { device = "a100-sxm-40", hwloc = "./node.xml" }
-- FILE: node.xml
<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0">
  <object type="Machine" os_index="0" cpuset="0x0000000f" complete_cpuset="0x0000000f" nodeset="0x00000001" complete_nodeset="0x00000001" allowed_cpuset="0x0000000f" allowed_nodeset="0x00000001" gp_index="1">
    <info name="DMIProductName" value="MIG"/>
    <info name="Architecture" value="x86_64"/>
    <object type="Package" os_index="0" cpuset="0x0000000f" complete_cpuset="0x0000000f" nodeset="0x00000001" complete_nodeset="0x00000001" gp_index="2">
      <info name="CPUVendor" value="GenuineIntel"/>
      <object type="NUMANode" os_index="0" cpuset="0x0000000f" complete_cpuset="0x0000000f" nodeset="0x00000001" complete_nodeset="0x00000001" local_memory="68719476736" gp_index="3"/>
      <object type="Core" os_index="0" cpuset="0x00000001" complete_cpuset="0x00000001" nodeset="0x00000001" complete_nodeset="0x00000001" gp_index="4">
        <object type="PU" os_index="0" cpuset="0x00000001" complete_cpuset="0x00000001" nodeset="0x00000001" complete_nodeset="0x00000001" gp_index="5"/>
      </object>
      <object type="Core" os_index="1" cpuset="0x00000002" complete_cpuset="0x00000002" nodeset="0x00000001" complete_nodeset="0x00000001" gp_index="6">
        <object type="PU" os_index="1" cpuset="0x00000002" complete_cpuset="0x00000002" nodeset="0x00000001" complete_nodeset="0x00000001" gp_index="7"/>
      </object>
      <object type="Core" os_index="2" cpuset="0x00000004" complete_cpuset="0x00000004" nodeset="0x00000001" complete_nodeset="0x00000001" gp_index="8">
        <object type="PU" os_index="2" cpuset="0x00000004" complete_cpuset="0x00000004" nodeset="0x00000001" complete_nodeset="0x00000001" gp_index="9"/>
      </object>
      <object type="Core" os_index="3" cpuset="0x00000008" complete_cpuset="0x00000008" nodeset="0x00000001" complete_nodeset="0x00000001" gp_index="10">
        <object type="PU" os_index="3" cpuset="0x00000008" complete_cpuset="0x00000008" nodeset="0x00000001" complete_nodeset="0x00000001" gp_index="11"/>
      </object>
      <object type="Bridge" bridge_type="0-1" depth="0" bridge_pci="0000:[00-09]" gp_index="12">
        <object type="Bridge" bridge_type="1-1" depth="1" bridge_pci="0000:[01-01]" pci_busid="0000:00:01.0" pci_type="0604 [1000:c030] [0000:0000] 00" pci_link_speed="63.000000" gp_index="13">
          <object type="PCIDev" pci_busid="0000:01:00.0" pci_type="0302 [10de:2330] [0000:0000] 00" pci_link_speed="63.015385" gp_index="14">
            <object type="OSDev" name="nvml0" osdev_type="1" gp_index="15"/>
            <object type="OSDev" name="cuda0" osdev_type="5" gp_index="16">
              <info name="CUDAGlobalMemorySize" value="10240000"/>
              <info name="CUDAMultiProcessors" value="16"/>
            </object>
            <object type="OSDev" name="cuda1" osdev_type="5" gp_index="17">
              <info name="CUDAGlobalMemorySize" value="10240000"/>
              <info name="CUDAMultiProcessors" value="16"/>
            </object>
            <object type="OSDev" name="cuda2" osdev_type="5" gp_index="18">
              <info name="CUDAGlobalMemorySize" value="10240000"/>
              <info name="CUDAMultiProcessors" value="16"/>
            </object>
          </object>
        </object>
        <object type="Bridge" bridge_type="1-1" depth="1" bridge_pci="0000:[02-02]" pci_busid="0000:00:02.0" pci_type="0604 [1000:c030] [0000:0000] 00" pci_link_speed="63.000000" gp_index="19">
          <object type="PCIDev" pci_busid="0000:02:00.0" pci_type="0207 [15b3:1021] [0000:0000] 00" pci_link_speed="63.015385" gp_index="20">
            <object type="OSDev" name="mlx5_0" osdev_type="3" gp_index="21"/>
          </object>
        </object>
      </object>
    </object>
  </object>
</topology>
-- >>> exit 1
c.lua:1:42: error[topology-devices]: GPU0 of node.xml is divided into 3
    instances (MIG)
    1 | return { device = "a100-sxm-40", hwloc = "./node.xml" }
      |                                          ^~~~~~~~~~~~
        fix: describe the machine with MIG off, or devices, memory and intra as numbers
