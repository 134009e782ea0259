/* topology_test.c -- LINK: topology base
 * The facts of a description that placement needs: classes of paths, their rates, which NIC and
 * cores are near. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/machine/topology/read.h"

/* Two sockets with two GPUs each; GPU0 and GPU1 share a switch with a NIC and have two NVLinks;
 * GPU2 is alone below its switch; GPU3 hangs two switches deep, beside a NIC one switch up. */
static const char two_sockets[] =
    "<system version=\"1\">"
    "<cpu numaid=\"0\" affinity=\"0000000f\" vendor=\"GenuineIntel\">"
    " <pci busid=\"0000:10:00.0\" class=\"0x060400\" link_speed=\"16 GT/s\" link_width=\"16\">"
    "  <pci busid=\"0000:11:00.0\" class=\"0x030200\" vendor=\"0x10de\" device=\"0x20b0\""
    "   link_speed=\"16 GT/s\" link_width=\"16\"><gpu dev=\"0\" sm=\"80\">"
    "   <nvlink target=\"0000:12:00.0\" count=\"2\" tclass=\"0x030200\"/></gpu></pci>"
    "  <pci busid=\"0000:12:00.0\" class=\"0x030200\" vendor=\"0x10de\" device=\"0x20b0\""
    "   link_speed=\"16 GT/s\" link_width=\"16\"><gpu dev=\"1\" sm=\"80\">"
    "   <nvlink target=\"0000:11:00.0\" count=\"2\" tclass=\"0x030200\"/></gpu></pci>"
    "  <pci busid=\"0000:13:00.0\" class=\"0x020700\" link_speed=\"16 GT/s\" link_width=\"16\">"
    "   <nic><net name=\"mlx5_0\" speed=\"100000\"/></nic></pci>"
    " </pci>"
    " <pci busid=\"0000:20:00.0\" class=\"0x060400\" link_speed=\"16 GT/s\" link_width=\"16\">"
    "  <pci busid=\"0000:21:00.0\" class=\"0x030200\" link_speed=\"8 GT/s\" link_width=\"8\">"
    "   <gpu dev=\"2\" sm=\"80\"/></pci>"
    " </pci>"
    "</cpu>"
    "<cpu numaid=\"1\" affinity=\"000000f0\" vendor=\"GenuineIntel\">"
    " <pci busid=\"0000:30:00.0\" class=\"0x060400\" link_speed=\"16 GT/s\" link_width=\"16\">"
    "  <pci busid=\"0000:31:00.0\" class=\"0x060400\" link_speed=\"16 GT/s\" link_width=\"16\">"
    "   <pci busid=\"0000:32:00.0\" class=\"0x030200\" link_speed=\"16 GT/s\" link_width=\"16\">"
    "    <gpu dev=\"3\" sm=\"80\"/></pci></pci>"
    "  <pci busid=\"0000:33:00.0\" class=\"0x020700\" link_speed=\"16 GT/s\" link_width=\"16\">"
    "   <nic><net name=\"mlx5_1\" speed=\"200000\"/></nic></pci>"
    " </pci>"
    "</cpu></system>";

static bool is_about(double a, double b) {
  return fabs(a - b) < 0.01 * b;
}

static void test_classes(const HostNode *node) {
  const int32_t *gpus = node->gpus.at, *nics = node->nics.at;
  assert(node->gpus.count == 4 && node->nics.count == 2);
  assert(topology_link_class(node, gpus[0], gpus[0]) == LINK_SELF);
  assert(topology_link_class(node, gpus[0], gpus[1]) == LINK_NV);
  assert(topology_link_count(node, gpus[1], gpus[0]) == 2); /* written at both ends, counted once */
  assert(topology_link_class(node, gpus[0], nics[0]) == LINK_PIX);
  assert(topology_link_class(node, gpus[0], gpus[2]) == LINK_PHB);
  assert(topology_link_class(node, gpus[3], nics[1]) == LINK_PXB);
  assert(topology_link_class(node, gpus[0], gpus[3]) == LINK_SYS);
  for (int32_t a = 0; a < node->devices.count; a++)
    for (int32_t b = 0; b < node->devices.count; b++)
      assert(topology_link_class(node, a, b) == topology_link_class(node, b, a));
}

static void test_bandwidth(const HostNode *node) {
  const int32_t *gpus = node->gpus.at, *nics = node->nics.at;
  assert(is_about(topology_bandwidth(node, gpus[0], gpus[1]), 40));   /* two NVLinks of 20 */
  assert(is_about(topology_bandwidth(node, gpus[0], nics[0]), 12.5)); /* the NIC */
  assert(is_about(topology_bandwidth(node, gpus[0], gpus[2]), 6)); /* eight lanes of generation 3 */
  assert(is_about(topology_bandwidth(node, gpus[3], nics[1]), 24)); /* PCIe, just below the NIC */
  assert(is_about(topology_bandwidth(node, gpus[0], gpus[3]), 10)); /* between sockets */
}

static void test_near(const HostNode *node) {
  assert(node->domain_count == 3);
  assert(node->domains[0] == node->domains[1] && node->domains[2] != node->domains[3]);
  assert(topology_near_nic(node, 0) == node->nics.at[0]);
  assert(topology_near_nic(node, 2) == node->nics.at[0]);
  assert(topology_near_nic(node, 3) == node->nics.at[1]);
}

/* Cores come from hwloc: this machine has some, and all of them are near something that is nowhere.
 */
static void test_cores(void) {
  Compile *c = compile_new("");
  HostNode *here = topology_of_this_machine(c);
  assert(here && here->cores.count > 0 && here->numas.count > 0);
  int32_t *cores = ARENA_ARRAY(c->arena, int32_t, here->cores.count);
  VEC_PUSH(c->arena, &here->devices, (Device){.parent = -1, .host = -1, .package = -1, .numa = -1});
  int32_t last = here->devices.count - 1;
  assert(topology_near_cores(here, last, cores) == here->cores.count);
  here->devices.at[last].numa = 0;
  int32_t near = topology_near_cores(here, last, cores);
  assert(near > 0);
  for (int32_t i = 0; i < near; i++)
    assert(here->cores.at[cores[i]].numa == 0);
  compile_free(c);
}

static void test_cpusets(void) {
  Compile *c = compile_new("");
  CpuSet *set = cpuset_new(c->arena);
  assert(strcmp(cpuset_text(c->arena, set), "none") == 0);
  for (int32_t cpu = 0; cpu < CPUS_MOST; cpu += 2)
    assert(cpuset_add(set, cpu));
  assert(!cpuset_add(set, CPUS_MOST) && !cpuset_add(set, -1));
  assert(cpuset_count(set) == CPUS_MOST / 2);
  assert(strncmp(cpuset_text(c->arena, set), "0,2,4,", 6) == 0);
  compile_free(c);
}

int main(void) {
  Compile *c = compile_new("");
  Topology topology;
  bool is_read = topology_read_bytes(c, "two.xml", two_sockets, strlen(two_sockets), &topology);
  if (!is_read) diags_print(&c->diags, stderr, false);
  assert(is_read && topology.node);
  test_classes(topology.node);
  test_bandwidth(topology.node);
  test_near(topology.node);
  compile_free(c);
  test_cores();
  test_cpusets();
  puts("topology: paths, bandwidths, what is near");
  return 0;
}
