/* warn.c -- what in a machine costs speed, or may be a mistake of its description. */
#include <stdarg.h>
#include <string.h>

#include "compiler/machine/topology/models.h"
#include "compiler/machine/topology/node.h"

typedef struct WarnLook {
  Arena *arena;
  const HostNode *node;
  Warnings found;
} WarnLook;

static void warn(WarnLook *look, const char *name, const char *text) {
  VEC_PUSH(look->arena, &look->found.list, (Warning){name, text});
}

static const Device *gpu(const WarnLook *look, int32_t number) {
  return &look->node->devices.at[look->node->gpus.at[number]];
}

static bool has_fast_link(const WarnLook *look, int32_t number) {
  int32_t count = look->node->gpus.count;
  for (int32_t other = 0; other < count; other++)
    if (look->node->pairs[number * count + other].link_class != LINK_SELF) return true;
  return false;
}

static int64_t near_memory_bytes(const WarnLook *look, int32_t numa) {
  int64_t bytes = 0;
  const NumaNode *at = &look->node->numas.at[numa];
  for (int32_t i = 0; i < look->node->numas.count; i++)
    if (cpuset_equal(look->node->numas.at[i].cpus, at->cpus))
      bytes += look->node->numas.at[i].memory_bytes;
  return bytes;
}

/* "GPU0, GPU3" of those that a test picks; NULL: none. */
typedef bool (*Test)(const WarnLook *look, int32_t gpu);
static const char *pick(const WarnLook *look, Test test, int32_t *count) {
  const char *text = NULL;
  *count = 0;
  for (int32_t g = 0; g < look->node->gpus.count; g++) {
    if (!test(look, g)) continue;
    text = text ? arena_printf(look->arena, "%s, GPU%d", text, g)
                : arena_printf(look->arena, "GPU%d", g);
    ++*count;
  }
  bool is_all = *count > 1 && *count == look->node->gpus.count;
  return is_all ? "all GPUs" : text;
}

static bool lacks_fast_link(const WarnLook *look, int32_t number) {
  return !has_fast_link(look, number);
}

/* Warns of GPUs without links: their model is made with links, or other GPUs of the node have them.
 */
static void look_at_links(WarnLook *look) {
  int32_t without;
  const char *names = pick(look, lacks_fast_link, &without);
  if (!names || look->node->gpus.count < 2) return;
  const Device *first = gpu(look, 0);
  const GpuModel *model = gpu_model(first->vendor_id, first->device_id);
  if (without < look->node->gpus.count)
    warn(look, "no-nvlink",
         arena_printf(look->arena, "%s: no NVLink or xGMI, beside GPUs that have it", names));
  else if (model && model->link_gb_s > 0)
    warn(look, "links-unknown",
         arena_printf(look->arena,
                      "%s has %s; the file names no links, so paths between GPUs are "
                      "shown as PCIe",
                      model->name, model->vendor_id == 0x1002 ? "xGMI" : "NVLink"));
}

/* Links that are down, or a switch that is: all pairs of one domain should be alike. */
static void look_at_pairs(WarnLook *look) {
  const HostNode *node = look->node;
  int32_t most = 0, least = 0, at = 0, n = node->gpus.count;
  bool has_switch = node->nvswitches.count > 0;
  for (int32_t i = 0; has_switch && i < n * n; i++) {
    if (node->pairs[i].link_class != LINK_NVS) continue;
    if (node->pairs[i].count > most) most = node->pairs[i].count;
    if (least == 0 || node->pairs[i].count < least) least = node->pairs[i].count, at = i;
  }
  if (least < most)
    warn(look, "links-down",
         arena_printf(look->arena, "GPU%d and GPU%d have %d NVLinks where others have %d", at / n,
                      at % n, least, most));
}

/* ---- PCIe */

static double expected_gb_s(const Device *device) {
  const GpuModel *model = gpu_model(device->vendor_id, device->device_id);
  return model ? pcie_generation_gb_s(model->pcie_generation) : 0;
}

/* The rate of the model, or the best of GPUs like it. */
static double most_pcie_gb_s(const WarnLook *look, const Device *at) {
  double most = expected_gb_s(at);
  for (int32_t g = 0; g < look->node->gpus.count; g++) {
    const Device *other = gpu(look, g);
    bool is_alike = other->vendor_id == at->vendor_id && other->device_id == at->device_id;
    if (is_alike && other->pcie_gb_s > most) most = other->pcie_gb_s;
  }
  return most;
}

/* Generations and lanes come in powers of two: below three quarters of the best, it has fewer lanes
 * or a lower speed. */
static bool has_narrow_link(const WarnLook *look, int32_t number) {
  const Device *at = gpu(look, number);
  return at->pcie_gb_s > 0 && at->pcie_gb_s < 0.75 * most_pcie_gb_s(look, at);
}

static bool has_unknown_pcie(const WarnLook *look, int32_t number) {
  return gpu(look, number)->pcie_gb_s <= 0 && !gpu(look, number)->is_c2c;
}

static void look_at_pcie(WarnLook *look) {
  int32_t count;
  if (pick(look, has_unknown_pcie, &count))
    warn(look, "pcie-unknown",
         arena_printf(look->arena,
                      "the PCIe links of %d GPU%s have no speed or no width here, as in "
                      "virtual machines: paths over them are not priced",
                      count, plural(count)));
  const char *names = pick(look, has_narrow_link, &count);
  for (int32_t g = 0; names && g < look->node->gpus.count; g++) {
    if (!has_narrow_link(look, g)) continue;
    warn(look, "narrow-pcie",
         arena_printf(look->arena,
                      "%s: PCIe at %.1f GB/s of %.1f. An idle GPU slows its link: gather under "
                      "load, else look for lanes that are lost",
                      names, gpu(look, g)->pcie_gb_s, most_pcie_gb_s(look, gpu(look, g))));
    return;
  }
}

/* A bridge above a GPU that lets through less than the GPU's own link. */
static bool has_narrow_switch(const WarnLook *look, int32_t number) {
  const Device *at = gpu(look, number);
  for (int32_t up = at->parent; up >= 0; up = look->node->devices.at[up].parent) {
    double above = look->node->devices.at[up].pcie_gb_s;
    if (above > 0 && above < 0.75 * at->pcie_gb_s) return true;
  }
  return false;
}

static void look_at_switches(WarnLook *look) {
  int32_t count;
  const char *names = pick(look, has_narrow_switch, &count);
  if (names)
    warn(look, "narrow-switch",
         arena_printf(look->arena,
                      "%s: a PCIe switch or port above is slower than the GPU's own link", names));
}

/* ---- NICs */

static bool has_far_nic(const WarnLook *look, int32_t number) {
  int32_t nic = topology_near_nic(look->node, number);
  return nic >= 0 && topology_link_class(look->node, look->node->gpus.at[number], nic) >= LINK_NODE;
}

static int32_t fabric_nics(const HostNode *node) {
  int32_t count = 0;
  for (int32_t i = 0; i < node->nics.count; i++)
    count += topology_carries(&node->devices.at[node->nics.at[i]]);
  return count;
}

static void look_at_ports(WarnLook *look) {
  const char *names = NULL;
  for (int32_t i = 0; i < look->node->nics.count; i++)
    if (look->node->devices.at[look->node->nics.at[i]].is_down)
      names = names ? arena_printf(look->arena, "%s, NIC%d", names, i)
                    : arena_printf(look->arena, "NIC%d", i);
  if (names)
    warn(look, "nic-down",
         arena_printf(look->arena, "%s: no port is active; no GPU uses it", names));
}

static void look_at_nics(WarnLook *look) {
  int32_t count;
  look_at_ports(look);
  const char *names = pick(look, has_far_nic, &count);
  if (names)
    warn(look, "far-nic",
         arena_printf(look->arena, "%s: the nearest NIC is behind another host bridge or NUMA node",
                      names));
  if (look->node->gpus.count > 0 && fabric_nics(look->node) == 0)
    warn(look, "no-nic", "no fabric NIC: GPUs of other nodes cannot be reached");
}

/* ---- NUMA */

static void look_at_memory(WarnLook *look) {
  const HostNode *node = look->node;
  int64_t least = INT64_MAX, most = 0;
  for (int32_t i = 0; i < node->numas.count; i++) {
    if (cpuset_is_empty(node->numas.at[i].cpus)) continue;
    int64_t bytes = near_memory_bytes(look, i);
    if (bytes < least) least = bytes;
    if (bytes > most) most = bytes;
  }
  if (most > 0 && least / 3 < most / 4)
    warn(look, "numa-memory",
         arena_printf(look->arena, "NUMA nodes are unequal: %s to %s of memory",
                      format_bytes(look->arena, least), format_bytes(look->arena, most)));
}

static void look_at_numa(WarnLook *look) {
  const HostNode *node = look->node;
  const char *empty = NULL;
  for (int32_t i = 0; i < node->numas.count; i++)
    if (node->numas.at[i].os_index >= 0 && cpuset_is_empty(node->numas.at[i].cpus))
      empty = empty ? arena_printf(look->arena, "%s, %d", empty, node->numas.at[i].os_index)
                    : arena_printf(look->arena, "%d", node->numas.at[i].os_index);
  if (empty)
    warn(look, "numa-no-cpus",
         arena_printf(look->arena, "NUMA nodes without CPUs: %s (memory of GPUs, or expanders)",
                      empty));
  if (node->memory_only_absent > 0)
    warn(look, "numa-absent",
         arena_printf(look->arena,
                      "%d more NUMA nodes are counted and not described: memory of GPUs, or of "
                      "CPUs that are off",
                      node->memory_only_absent));
}

/* Warns if one of several sockets drives all GPUs. */
static void look_at_balance(WarnLook *look) {
  const HostNode *node = look->node;
  int32_t packages = node->packages.count, gpus = node->gpus.count;
  if (packages < 2 || gpus < 2) return;
  for (int32_t p = 0; p < packages; p++) {
    int32_t near = 0;
    for (int32_t g = 0; g < gpus; g++)
      near += gpu(look, g)->package == p;
    if (near == gpus)
      warn(look, "numa-gpus",
           arena_printf(look->arena, "every GPU is at package %d; the cores of the others are far",
                        node->packages.at[p].os_index));
  }
}

/* ---- resources that cannot be shared out evenly between ranks */

static void look_at_cores(WarnLook *look) {
  const HostNode *node = look->node;
  if (node->barred)
    warn(look, "cpus-barred",
         arena_printf(look->arena, "CPUs %.200s are not allowed (cgroup): ranks do not get them",
                      cpuset_text(look->arena, node->barred)));
  if (node->core_kinds > 1)
    warn(look, "core-kinds",
         arena_printf(look->arena,
                      "cores of %d kinds: threads on the slower ones hold up the others",
                      node->core_kinds));
}

static bool is_divided(const WarnLook *look, int32_t number) {
  return gpu(look, number)->instances > 1;
}

static void look_at_instances(WarnLook *look) {
  int32_t count;
  const char *names = pick(look, is_divided, &count);
  if (names)
    warn(look, "gpu-divided",
         arena_printf(look->arena,
                      "%s: divided into instances (MIG), which have no links between them; memory "
                      "and units shown are of the whole",
                      names));
}

Warnings topology_warnings(Arena *arena, const HostNode *node) {
  WarnLook look = {.arena = arena, .node = node};
  look_at_links(&look);
  look_at_pairs(&look);
  look_at_pcie(&look);
  look_at_switches(&look);
  look_at_nics(&look);
  look_at_memory(&look);
  look_at_balance(&look);
  look_at_numa(&look);
  look_at_cores(&look);
  look_at_instances(&look);
  return look.found;
}
