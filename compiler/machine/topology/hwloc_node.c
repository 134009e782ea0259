#include "compiler/machine/topology/hwloc_node.h"

#include <hwloc/cpukinds.h>
#include <hwloc/distances.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/machine/topology/models.h"

typedef struct HwlocWalk {
  Compile *c;
  Span span;
  hwloc_topology_t from;
  HostNode *node;
  int32_t hosts;
} HwlocWalk;

/* A name without the blanks that firmware pads it with; placeholders are not names. */
static const char *info(const HwlocWalk *w, hwloc_obj_t object, const char *name) {
  const char *text = object ? hwloc_obj_get_info_by_name(object, name) : NULL;
  if (!text) return NULL;
  size_t length = strlen(text);
  while (length > 0 && text[length - 1] == ' ')
    length--;
  if (length == 0 || strncmp(text, "To be filled", 12) == 0) return NULL;
  return arena_copy_n(w->c->arena, text, length);
}

/* ---- CPUs and memory */

static bool read_cpus(HwlocWalk *w, hwloc_const_cpuset_t from, CpuSet *to) {
  unsigned cpu;
  if (hwloc_bitmap_weight(from) < 0) /* without an end: hwloc's "all" */
    return error_at(w->c, w->span, "topology-value", "a mask of CPUs has no end");
  hwloc_bitmap_foreach_begin(cpu, from) {
    if (!cpuset_add(to, cpu))
      return error_at(w->c, w->span, "topology-limit", "CPU %u; %d is the highest", cpu,
                      CPUS_MOST - 1);
  }
  hwloc_bitmap_foreach_end();
  return true;
}

/* The only object of a type that holds these CPUs, or -1. */
static int32_t package_around(const HwlocWalk *w, hwloc_const_cpuset_t cpus) {
  if (!cpus || hwloc_bitmap_iszero(cpus)) return -1;
  hwloc_obj_t package = NULL;
  while ((package = hwloc_get_next_obj_by_type(w->from, HWLOC_OBJ_PACKAGE, package)))
    if (hwloc_bitmap_isincluded(cpus, package->cpuset)) return (int32_t)package->logical_index;
  return -1;
}

/* The NUMA node of these CPUs: the smallest; of several with the same CPUs (fast and plain memory)
 * the first. -1: they lie in several. */
static int32_t numa_around(const HwlocWalk *w, hwloc_const_cpuset_t cpus) {
  hwloc_obj_t numa = NULL, best = NULL;
  if (!cpus || hwloc_bitmap_iszero(cpus)) return -1;
  while ((numa = hwloc_get_next_obj_by_type(w->from, HWLOC_OBJ_NUMANODE, numa))) {
    bool is_smaller = !best || (hwloc_bitmap_isincluded(numa->cpuset, best->cpuset) &&
                                !hwloc_bitmap_isequal(numa->cpuset, best->cpuset));
    if (hwloc_bitmap_isincluded(cpus, numa->cpuset) && is_smaller) best = numa;
  }
  bool has_cpus = best && !cpuset_is_empty(w->node->numas.at[best->logical_index].cpus);
  return has_cpus ? (int32_t)best->logical_index : -1;
}

/* hwloc hangs memory without CPUs at the machine, and gives it the machine's: more than another
 * node has, and all of it. */
static void clear_alone(HostNode *node) {
  for (int32_t i = 0; i < node->numas.count; i++) {
    CpuSet *cpus = node->numas.at[i].cpus;
    bool is_around = false;
    for (int32_t j = 0; j < node->numas.count && !is_around; j++)
      is_around = !cpuset_is_empty(node->numas.at[j].cpus) &&
                  cpuset_is_within(node->numas.at[j].cpus, cpus) &&
                  !cpuset_equal(node->numas.at[j].cpus, cpus);
    if (is_around) *cpus = (CpuSet){0};
  }
}

static bool read_memory(HwlocWalk *w) {
  hwloc_obj_t object = NULL;
  while ((object = hwloc_get_next_obj_by_type(w->from, HWLOC_OBJ_PACKAGE, object)))
    VEC_PUSH(w->c->arena, &w->node->packages, (Package){(int32_t)object->os_index});
  object = NULL;
  while ((object = hwloc_get_next_obj_by_type(w->from, HWLOC_OBJ_NUMANODE, object))) {
    NumaNode numa = {.os_index = (int32_t)object->os_index,
                     .package = package_around(w, object->cpuset),
                     .memory_bytes = (int64_t)object->attr->numanode.local_memory,
                     .cpus = cpuset_new(w->c->arena)};
    if (!read_cpus(w, object->cpuset, numa.cpus)) return false;
    VEC_PUSH(w->c->arena, &w->node->numas, numa);
  }
  clear_alone(w->node);
  hwloc_obj_t root = hwloc_get_root_obj(w->from);
  int32_t counted = root->complete_nodeset ? hwloc_bitmap_weight(root->complete_nodeset) : 0;
  if (counted > w->node->numas.count) w->node->memory_only_absent = counted - w->node->numas.count;
  return true;
}

/* Reads the processors that the machine has and its cgroup does not allow. */
static bool read_barred(HwlocWalk *w) {
  hwloc_bitmap_t barred = hwloc_bitmap_alloc();
  hwloc_bitmap_andnot(barred, hwloc_get_root_obj(w->from)->cpuset,
                      hwloc_topology_get_allowed_cpuset(w->from));
  if (!hwloc_bitmap_iszero(barred)) w->node->barred = cpuset_new(w->c->arena);
  bool is_good = !w->node->barred || read_cpus(w, barred, w->node->barred);
  hwloc_bitmap_free(barred);
  return is_good;
}

/* As Intel names them; kinds by clock alone are cores that are alike but for their best speed. */
static int32_t count_core_types(const HwlocWalk *w) {
  enum { TYPES_MOST = 8 };
  const char *types[TYPES_MOST];
  int32_t count = 0;
  for (int kind = 0; kind < hwloc_cpukinds_get_nr(w->from, 0); kind++) {
    unsigned info_count = 0;
    struct hwloc_info_s *infos = NULL;
    if (hwloc_cpukinds_get_info(w->from, (unsigned)kind, NULL, NULL, &info_count, &infos, 0) != 0)
      continue;
    for (unsigned i = 0; i < info_count && count < TYPES_MOST; i++) {
      bool is_known = strcmp(infos[i].name, "CoreType") != 0;
      for (int32_t t = 0; t < count; t++)
        is_known |= strcmp(types[t], infos[i].value) == 0;
      if (!is_known) types[count++] = infos[i].value;
    }
  }
  return count;
}

/* A core whose threads are all barred does not count. */
static bool read_cores(HwlocWalk *w) {
  CpuSet *taken = cpuset_new(w->c->arena);
  hwloc_obj_t object = NULL;
  while ((object = hwloc_get_next_obj_by_type(w->from, HWLOC_OBJ_CORE, object))) {
    Core core = {.package = package_around(w, object->cpuset),
                 .numa = numa_around(w, object->cpuset),
                 .cpus = cpuset_new(w->c->arena)};
    if (!read_cpus(w, object->cpuset, core.cpus)) return false;
    if (cpuset_take(taken, core.cpus))
      return error_at(w->c, w->span, "topology-value", "two cores have CPU %s",
                      cpuset_text(w->c->arena, core.cpus));
    if (w->node->barred) cpuset_remove(core.cpus, w->node->barred);
    if (!cpuset_is_empty(core.cpus)) VEC_PUSH(w->c->arena, &w->node->cores, core);
  }
  w->node->core_kinds = count_core_types(w);
  return true;
}

static void read_machine(HwlocWalk *w) {
  hwloc_obj_t root = hwloc_get_root_obj(w->from);
  hwloc_obj_t package = hwloc_get_obj_by_type(w->from, HWLOC_OBJ_PACKAGE, 0);
  const char *name = info(w, root, "DMIProductName");
  w->node->name = name ? name : info(w, root, "HostName");
  w->node->cpu = info(w, package, "CPUModel");
  const char *arch = info(w, root, "Architecture"), *vendor = info(w, package, "CPUVendor");
  if (!vendor) vendor = w->node->cpu ? w->node->cpu : "";
  if (strstr(vendor, "Intel")) w->node->maker = CPU_INTEL;
  if (strstr(vendor, "AMD")) w->node->maker = CPU_AMD;
  if (arch && strstr(arch, "ppc")) w->node->maker = CPU_IBM;
  if (arch && strstr(arch, "aarch")) w->node->maker = CPU_ARM;
}

/* ---- PCI: an object keeps the index of its device, plus one, in userdata */

static int32_t device_of(hwloc_obj_t object) {
  while (object && object->type == HWLOC_OBJ_OS_DEVICE)
    object = object->parent;
  return object ? (int32_t)(intptr_t)object->userdata - 1 : -1;
}

/* A host bridge keeps minus its number, minus one. */
static int32_t host_of(hwloc_obj_t object) {
  for (; object; object = object->parent)
    if (object->type == HWLOC_OBJ_BRIDGE && (intptr_t)object->userdata < 0)
      return (int32_t)(-1 - (intptr_t)object->userdata);
  return -1;
}

static int32_t bridge_of(hwloc_obj_t object) {
  int32_t index = object->parent ? (int32_t)(intptr_t)object->parent->userdata - 1 : -1;
  return index >= 0 ? index : -1;
}

static Device device_at(HwlocWalk *w, hwloc_obj_t object) {
  const struct hwloc_pcidev_attr_s *pci =
      &object->attr->pcidev; /* of a bridge: its upstream side */
  hwloc_obj_t near = hwloc_get_non_io_ancestor_obj(w->from, object);
  return (Device){.number = -1,
                  .source_number = -1,
                  .pci = arena_printf(w->c->arena, "%04x:%02x:%02x.%x", pci->domain, pci->bus,
                                      pci->dev, pci->func),
                  .vendor_id = pci->vendor_id,
                  .device_id = pci->device_id,
                  .parent = bridge_of(object),
                  .host = host_of(object),
                  .package = package_around(w, near->cpuset),
                  .numa = numa_around(w, near->cpuset),
                  .pcie_gb_s = (double)pci->linkspeed};
}

static void add_device(HwlocWalk *w, hwloc_obj_t object, Device device) {
  object->userdata = (void *)(intptr_t)(w->node->devices.count + 1);
  VEC_PUSH(w->c->arena, &w->node->devices, device);
}

static void read_bridge(HwlocWalk *w, hwloc_obj_t object) {
  if (object->attr->bridge.upstream_type == HWLOC_OBJ_BRIDGE_HOST) {
    object->userdata = (void *)(intptr_t)(-1 - w->hosts++);
    return;
  }
  Device device = device_at(w, object);
  device.kind = DEVICE_BRIDGE;
  add_device(w, object, device);
}

/* "nvml3", "cuda3", "rsmi3": 3; the management library's number before the one that a variable may
 * turn. */
static void read_gpu_name(Device *device, const char *name) {
  static const char *const kinds[] = {"nvml", "rsmi", "cuda"};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    if (strncmp(name, kinds[i], 4) != 0) continue;
    bool is_better = !device->name || strncmp(device->name, "cuda", 4) == 0;
    char *end;
    long number = strtol(name + 4, &end, 10);
    if (!is_better || end == name + 4 || *end || number < 0 || number >= DEVICES_MOST) return;
    device->name = name;
    device->source_number = (int32_t)number;
  }
}

static int64_t info_number(const HwlocWalk *w, hwloc_obj_t object, const char *name) {
  const char *text = info(w, object, name);
  int64_t number = text ? strtoll(text, NULL, 10) : 0;
  return number > 0 && number < (int64_t)1 << 40 ? number : 0;
}

static void read_gpu_os(HwlocWalk *w, hwloc_obj_t os, Device *device) {
  read_gpu_name(device, os->name ? arena_copy(w->c->arena, os->name) : "");
  const char *model = info(w, os, "GPUModel");
  if (model) device->model = model;
  int64_t memory_kib = info_number(w, os, "CUDAGlobalMemorySize");
  if (memory_kib == 0) memory_kib = info_number(w, os, "RSMIVRAMSize");
  if (memory_kib > 0) device->memory_bytes = memory_kib * 1024;
  int64_t sms = info_number(w, os, "CUDAMultiProcessors");
  if (sms > 0 && sms < 4096) device->sms = (int32_t)sms;
}

/* Verbs say of each port whether it is active (4); down, where none is. */
static bool are_ports_down(const HwlocWalk *w, hwloc_obj_t os) {
  enum { PORTS_MOST = 8 };
  int32_t said = 0, active = 0;
  for (int32_t port = 1; port <= PORTS_MOST; port++) {
    const char *state = info(w, os, arena_printf(w->c->arena, "Port%dState", port));
    said += state != NULL;
    active += state && strcmp(state, "4") == 0;
  }
  return said > 0 && active == 0;
}

static void read_nic_os(HwlocWalk *w, hwloc_obj_t os, Device *device) {
  bool is_verbs = os->attr->osdev.type == HWLOC_OBJ_OSDEV_OPENFABRICS;
  if (is_verbs) device->is_down = are_ports_down(w, os);
  if (os->name && (is_verbs || !device->name)) device->name = arena_copy(w->c->arena, os->name);
  device->is_fabric |= is_verbs;
}

/* Counts the devices on one PCI address: a GPU that is divided into instances shows one name of a
 * library (NVML, ROCm, CUDA) for each. Returns the largest count of any library. */
static int32_t count_instances(hwloc_obj_t object) {
  static const char *const kinds[] = {"nvml", "rsmi", "cuda"};
  int32_t most = 0;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    int32_t count = 0;
    for (hwloc_obj_t os = object->io_first_child; os; os = os->next_sibling)
      count += os->type == HWLOC_OBJ_OS_DEVICE && os->name && strncmp(os->name, kinds[i], 4) == 0;
    if (count > most) most = count;
  }
  return most;
}

static void read_os_devices(HwlocWalk *w, hwloc_obj_t object, Device *device) {
  for (hwloc_obj_t os = object->io_first_child; os; os = os->next_sibling) {
    if (os->type != HWLOC_OBJ_OS_DEVICE) continue;
    if (device->kind == DEVICE_GPU) read_gpu_os(w, os, device);
    if (device->kind == DEVICE_NIC) read_nic_os(w, os, device);
  }
  if (device->kind != DEVICE_GPU) return;
  device->instances = count_instances(object);
  /* the numbers are of one instance, not of the GPU */
  if (device->instances > 1) device->memory_bytes = device->sms = 0;
}

/* False: a device that does not matter here (disks, the display of a service processor). */
static bool find_kind(hwloc_obj_t object, Device *device) {
  const struct hwloc_pcidev_attr_s *pci = &object->attr->pcidev;
  bool is_maker = pci->vendor_id == 0x10de || pci->vendor_id == 0x1002;
  bool is_screen = pci->class_id == 0x0300 || pci->class_id == 0x0380;
  bool is_accelerator = pci->class_id >> 8 == 0x12 && pci->vendor_id == 0x1002;
  bool is_nvswitch = (pci->class_id == 0x0680 && pci->vendor_id == 0x10de) ||
                     (object->subtype && strcmp(object->subtype, "NVSwitch") == 0);
  if (pci->class_id == 0x0302 || (is_screen && is_maker) || is_accelerator)
    device->kind = DEVICE_GPU;
  else if (is_nvswitch)
    device->kind = DEVICE_NVSWITCH;
  else if (pci->class_id >> 8 == 0x02)
    device->kind = DEVICE_NIC;
  else
    return false;
  device->is_fabric = pci->class_id == 0x0207 || pci->class_id == 0x0208;
  return true;
}

static bool read_io(HwlocWalk *w, hwloc_obj_t object) {
  for (hwloc_obj_t child = object->io_first_child; child; child = child->next_sibling) {
    if (w->node->devices.count >= DEVICES_MOST)
      return error_at(w->c, w->span, "topology-limit", "more than %d devices", DEVICES_MOST);
    child->userdata = NULL;
    if (child->type == HWLOC_OBJ_BRIDGE) read_bridge(w, child);
    if (child->type == HWLOC_OBJ_PCI_DEVICE) {
      Device device = device_at(w, child);
      if (find_kind(child, &device)) {
        read_os_devices(w, child, &device);
        add_device(w, child, device);
      }
    }
    if (child->type != HWLOC_OBJ_OS_DEVICE && !read_io(w, child)) return false;
  }
  return true;
}

/* I/O hangs below any object of the tree of CPUs, whose depth the file limits. */
static bool read_devices(HwlocWalk *w, hwloc_obj_t object) {
  if (!read_io(w, object)) return false;
  for (hwloc_obj_t child = object->first_child; child; child = child->next_sibling)
    if (!read_devices(w, child)) return false;
  return true;
}

/* ---- links */

/* NVLinkBandwidth: MB/s between any two GPUs or switches. The diagonal has no meaning. */
static void add_link(HwlocWalk *w, LinkKind kind, int32_t a, int32_t b, double gb_s) {
  if (a < 0 || b < 0 || a == b || gb_s <= 0) return;
  const Device *x = &w->node->devices.at[a], *y = &w->node->devices.at[b];
  if (x->kind != DEVICE_GPU && y->kind != DEVICE_GPU) return;
  const Device *gpu = x->kind == DEVICE_GPU ? x : y;
  const GpuModel *model = gpu_model(gpu->vendor_id, gpu->device_id);
  double each = model && model->link_gb_s > 0 ? model->link_gb_s : 25;
  FastLink link = {kind, a < b ? a : b, a < b ? b : a, 0, gb_s};
  /* hwloc's matrix of xGMI has one number for all pairs, however many links they have, so links are
   * not counted here. */
  if (kind == LINKS_NVLINK) link.count = (int32_t)lround(fmin(gb_s / each, 64));
  if (kind == LINKS_NVLINK && link.count == 0) link.count = 1;
  VEC_PUSH(w->c->arena, &w->node->links, link);
}

static void read_matrix(HwlocWalk *w, const char *name, LinkKind kind) {
  struct hwloc_distances_s *matrix = NULL;
  unsigned count = 1;
  if (hwloc_distances_get_by_name(w->from, name, &count, &matrix, 0) != 0 || count == 0) return;
  for (unsigned i = 0; i < matrix->nbobjs; i++)
    for (unsigned j = 0; j < i; j++) {
      if (!matrix->objs[i] || !matrix->objs[j]) continue;
      uint64_t mb_s = matrix->values[i * matrix->nbobjs + j];
      add_link(w, kind, device_of(matrix->objs[i]), device_of(matrix->objs[j]),
               (double)mb_s / 1000);
    }
  hwloc_distances_release(w->from, matrix);
}

bool node_of_hwloc(Compile *c, Span span, hwloc_topology_t topology, HostNode *node) {
  HwlocWalk w = {.c = c, .span = span, .from = topology, .node = node};
  read_machine(&w);
  if (!read_memory(&w) || !read_barred(&w) || !read_cores(&w)) return false;
  if (!read_devices(&w, hwloc_get_root_obj(topology))) return false;
  read_matrix(&w, "NVLinkBandwidth", LINKS_NVLINK);
  read_matrix(&w, "XGMIBandwidth", LINKS_XGMI);
  return true;
}
