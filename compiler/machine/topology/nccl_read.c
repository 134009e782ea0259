/* nccl_read.c -- NCCL's and RCCL's topology XML: NCCL_TOPO_FILE, or what NCCL_TOPO_DUMP_FILE wrote.
 *
 * NCCL writes version 1 with <nvlink>; RCCL version 2 with <xgmi>. A written file may be as little
 * as addresses and classes. Links are written at both ends, so each pair is counted once. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "compiler/machine/topology/models.h"
#include "compiler/machine/topology/xml.h"

/* One link element, kept until all devices are known. */
typedef struct NcclWire {
  const xmlNode *at;
  int32_t from;
} NcclWire;

typedef struct NcclReader {
  Compile *c;
  const char *path;
  HostNode *node;
  VEC(NcclWire) wires;
  const char *host_hash;
  int32_t host; /* of the <cpu> that is read */
} NcclReader;

static Span at(const NcclReader *r, const xmlNode *node) {
  return xml_span(r->path, node);
}

static const char *small_letters(Arena *arena, const char *text) {
  char *copy = arena_copy(arena, text);
  for (char *p = copy; *p; p++)
    *p = (char)tolower((unsigned char)*p);
  return copy;
}

static int32_t find_pci(const HostNode *node, const char *pci) {
  for (int32_t i = 0; i < node->devices.count; i++)
    if (node->devices.at[i].pci && strcmp(node->devices.at[i].pci, pci) == 0) return i;
  return -1;
}

static bool read_links_of(NcclReader *r, const xmlNode *gpu, int32_t device) {
  for (const xmlNode *child = gpu->children; child; child = child->next) {
    if (!xml_is(child, "nvlink") && !xml_is(child, "xgmi")) continue;
    if (r->wires.count == DEVICES_MOST)
      return error_at(r->c, at(r, child), "topology-limit", "more than %d links", DEVICES_MOST);
    VEC_PUSH(r->c->arena, &r->wires, (NcclWire){child, device});
  }
  return true;
}

static bool read_gpu(NcclReader *r, const xmlNode *gpu, int32_t device) {
  int64_t dev, sm;
  if (!xml_number(r->c, r->path, gpu, (XmlNumber){"dev", 0, 4095, -1}, &dev)) return false;
  if (!xml_number(r->c, r->path, gpu, (XmlNumber){"sm", 0, 4095, 0}, &sm)) return false;
  Device *to = &r->node->devices.at[device];
  to->kind = DEVICE_GPU;
  to->source_number = (int32_t)dev;
  for (const xmlNode *child = gpu->children; child; child = child->next)
    to->is_c2c |= xml_is(child, "c2c");
  if (xml_attr(gpu, "gcn")) to->sms = (int32_t)sm; /* RCCL counts compute units, NCCL a version */
  return read_links_of(r, gpu, device);
}

/* A port. The second of a card is its own device beside it. */
static bool read_net(NcclReader *r, const xmlNode *net, int32_t device, bool is_first) {
  int64_t speed;
  if (!xml_number(r->c, r->path, net, (XmlNumber){"speed", 0, 100000000, 0}, &speed)) return false;
  Device made = r->node->devices.at[device];
  made.kind = DEVICE_NIC;
  made.is_fabric = true;
  const char *name = xml_attr(net, "name");
  if (name && *name) made.name = arena_copy(r->c->arena, name);
  made.rate_gbit_s = (double)speed / 1000;
  if (is_first)
    r->node->devices.at[device] = made;
  else if (r->node->devices.count < DEVICES_MOST)
    VEC_PUSH(r->c->arena, &r->node->devices, made);
  return true;
}

static bool read_nic(NcclReader *r, const xmlNode *nic, int32_t device) {
  int32_t ports = 0;
  for (const xmlNode *net = nic->children; net; net = net->next)
    if (xml_is(net, "net") && !read_net(r, net, device, ports++ == 0)) return false;
  return true;
}

/* An emulated link: QEMU's PCIe switch reports 2.5 GT/s x1 for every device. */
static bool is_emulated(const Device *device) {
  return device->vendor_id == 0x104c && device->device_id == 0x8232;
}

/* "16.0 GT/s PCIe", "Unknown": as Linux and NCCL write it. */
static bool read_speed(NcclReader *r, const xmlNode *pci, double *gt_s) {
  const char *text = xml_attr(pci, "link_speed");
  char *end;
  *gt_s = 0;
  if (!text || !*text || strncasecmp(text, "unknown", strlen("unknown")) == 0) return true;
  double speed = strtod(text, &end);
  if (end != text && strncmp(end + strspn(end, " "), "GT/s", 4) == 0 && speed >= 0 && speed < 1e4) {
    *gt_s = speed;
    return true;
  }
  error_at(r->c, at(r, pci), "topology-value", "link_speed=\"%.40s\" is no speed of PCIe", text);
  fix_last(r->c, "link_speed=\"16.0 GT/s PCIe\", or without it where it is not known");
  return false;
}

static bool read_ids(NcclReader *r, const xmlNode *pci, Device *device, uint32_t *class_id) {
  const char *busid = xml_attr(pci, "busid");
  if (!busid || !is_pci_address(busid))
    return error_at(r->c, at(r, pci), "topology-value",
                    "busid=\"%.40s\" is no PCI address such as 0000:1b:00.0", busid ? busid : "");
  device->pci = small_letters(r->c->arena, busid);
  int32_t other = find_pci(r->node, device->pci);
  if (other >= 0) {
    error_at(r->c, at(r, pci), "topology-duplicate", "%s is in the file twice", device->pci);
    if (r->node->devices.at[other].kind == DEVICE_GPU)
      fix_last(r->c, "a dump of the machine with undivided GPUs (MIG off)");
    return false;
  }
  enum { LANES_MOST = 64, LANES_UNKNOWN = 255 }; /* as Linux says of a link to nowhere */
  int64_t lanes = 0;
  double gt_s = 0;
  bool is_good =
      xml_hex(r->c, r->path, pci, "class", class_id) &&
      xml_hex(r->c, r->path, pci, "vendor", &device->vendor_id) &&
      xml_hex(r->c, r->path, pci, "device", &device->device_id) &&
      xml_number(r->c, r->path, pci, (XmlNumber){"link_width", 0, LANES_UNKNOWN, 0}, &lanes) &&
      read_speed(r, pci, &gt_s);
  if (lanes > LANES_MOST) lanes = 0;
  if (gt_s > 0) device->pcie_gb_s = pcie_gb_s(gt_s, (int32_t)lanes);
  if (is_emulated(device)) device->pcie_gb_s = 0;
  return is_good;
}

static DeviceKind kind_of_class(uint32_t class_id) {
  if (class_id >> 8 == 0x0302 || class_id >> 8 == 0x0300 || class_id >> 16 == 0x12)
    return DEVICE_GPU;
  if (class_id >> 8 == 0x0680) return DEVICE_NVSWITCH;
  return class_id >> 16 == 0x02 ? DEVICE_NIC : DEVICE_BRIDGE;
}

static bool read_pci(NcclReader *r, const xmlNode *pci, int32_t parent);

static bool read_inside(NcclReader *r, const xmlNode *pci, int32_t index) {
  for (const xmlNode *child = pci->children; child; child = child->next) {
    bool is_good = xml_is(child, "pci")   ? read_pci(r, child, index)
                   : xml_is(child, "gpu") ? read_gpu(r, child, index)
                   : xml_is(child, "nic") ? read_nic(r, child, index)
                                          : true;
    if (!is_good) return false;
  }
  return true;
}

static bool read_pci(NcclReader *r, const xmlNode *pci, int32_t parent) {
  if (r->node->devices.count == DEVICES_MOST)
    return error_at(r->c, at(r, pci), "topology-limit", "more than %d devices", DEVICES_MOST);
  uint32_t class_id = 0;
  Device device = {.number = -1,
                   .source_number = -1,
                   .parent = parent,
                   .host = r->host,
                   .package = -1,
                   .numa = r->node->numas.count - 1};
  if (!read_ids(r, pci, &device, &class_id)) return false;
  device.kind = kind_of_class(class_id);
  device.is_fabric = device.kind == DEVICE_NIC; /* NCCL's files list no other NICs */
  int32_t index = r->node->devices.count;
  VEC_PUSH(r->c->arena, &r->node->devices, device);
  return read_inside(r, pci, index);
}

/* ---- CPUs */

/* "0000ffff,ffffffff": words of 32, the highest first. */
static bool read_affinity(NcclReader *r, const xmlNode *cpu, CpuSet *set) {
  const char *text = xml_attr(cpu, "affinity");
  if (!text) return true;
  int64_t digits = 0, place = 0;
  for (const char *p = text; *p; p++)
    digits += *p != ',';
  place = digits * 4;
  for (const char *p = text; *p; p++) {
    if (*p == ',') continue;
    place -= 4;
    int32_t digit = isdigit((unsigned char)*p)    ? *p - '0'
                    : isxdigit((unsigned char)*p) ? tolower((unsigned char)*p) - 'a' + 10
                                                  : -1;
    bool is_good = digit >= 0;
    for (int32_t bit = 0; is_good && bit < 4; bit++)
      if (digit >> bit & 1) is_good = cpuset_add(set, place + bit);
    if (!is_good)
      return error_at(r->c, at(r, cpu), "topology-value",
                      "affinity=\"%.40s...\" is no mask of at most %d CPUs", text, CPUS_MOST);
  }
  return true;
}

static void read_maker(NcclReader *r, const xmlNode *cpu) {
  const char *vendor = xml_attr(cpu, "vendor"), *arch = xml_attr(cpu, "arch");
  if (vendor && strstr(vendor, "Intel")) r->node->maker = CPU_INTEL;
  if (vendor && strstr(vendor, "AMD")) r->node->maker = CPU_AMD;
  if (arch && strstr(arch, "ppc")) r->node->maker = CPU_IBM;
  if (arch && (strstr(arch, "arm") || strstr(arch, "aarch"))) r->node->maker = CPU_ARM;
}

/* A dump of an NVLink domain over several machines says of each CPU whose it is. */
static bool check_host(NcclReader *r, const xmlNode *cpu) {
  const char *hash = xml_attr(cpu, "host_hash");
  if (!hash) return true;
  if (r->host_hash && strcmp(hash, r->host_hash) != 0)
    return error_at(r->c, at(r, cpu), "topology-several",
                    "the file holds several machines; give a dump of one");
  r->host_hash = hash;
  return true;
}

/* Reads a NIC that is no PCI device, as in some virtual machines. */
static bool read_plain_nic(NcclReader *r, const xmlNode *nic) {
  if (r->node->devices.count == DEVICES_MOST)
    return error_at(r->c, at(r, nic), "topology-limit", "more than %d devices", DEVICES_MOST);
  Device device = {.kind = DEVICE_NIC,
                   .number = -1,
                   .source_number = -1,
                   .parent = -1,
                   .host = r->host,
                   .package = -1,
                   .numa = r->node->numas.count - 1,
                   .is_fabric = true};
  VEC_PUSH(r->c->arena, &r->node->devices, device);
  return read_nic(r, nic, r->node->devices.count - 1);
}

static bool read_cpu(NcclReader *r, const xmlNode *cpu) {
  int64_t numa;
  if (!check_host(r, cpu)) return false;
  /* -1 is what Linux says of a machine without NUMA. */
  if (!xml_number(r->c, r->path, cpu, (XmlNumber){"numaid", -1, 65535, -1}, &numa)) return false;
  for (int32_t i = 0; i < r->node->numas.count; i++)
    if (r->node->numas.at[i].os_index == numa)
      return error_at(r->c, at(r, cpu), "topology-duplicate", "numaid %lld is in the file twice",
                      (long long)numa);
  if (r->node->numas.count == NUMA_MOST)
    return error_at(r->c, at(r, cpu), "topology-limit", "more than %d NUMA nodes", NUMA_MOST);
  CpuSet *cpus = cpuset_new(r->c->arena);
  if (!read_affinity(r, cpu, cpus)) return false;
  VEC_PUSH(r->c->arena, &r->node->numas,
           (NumaNode){.os_index = (int32_t)numa, .package = -1, .cpus = cpus});
  r->host = r->node->numas.count - 1;
  read_maker(r, cpu);
  for (const xmlNode *child = cpu->children; child; child = child->next) {
    bool is_good = xml_is(child, "pci")   ? read_pci(r, child, -1)
                   : xml_is(child, "nic") ? read_plain_nic(r, child)
                                          : true;
    if (!is_good) return false;
  }
  return true;
}

/* ---- links */

/* A switch appears only as a target; in a virtual machine its address is all ones, and longer than
 * a PCI address. */
static int32_t link_target(NcclReader *r, const char *target, uint32_t class_id) {
  const char *pci = small_letters(r->c->arena, target);
  int32_t found = find_pci(r->node, pci);
  if (found >= 0 || class_id >> 8 != 0x0680) return found;
  VEC_PUSH(r->c->arena, &r->node->devices,
           (Device){.kind = DEVICE_NVSWITCH,
                    .number = -1,
                    .source_number = -1,
                    .pci = pci,
                    .model = "NVSwitch",
                    .parent = -1,
                    .host = -1,
                    .package = -1,
                    .numa = -1});

  return r->node->devices.count - 1;
}

/* A second element of the same pair is the other end of the link. */
static FastLink *find_link(HostNode *node, int32_t a, int32_t b) {
  for (int32_t i = 0; i < node->links.count; i++)
    if (node->links.at[i].a == a && node->links.at[i].b == b) return &node->links.at[i];
  return NULL;
}

static bool add_wire(NcclReader *r, const NcclWire *wire) {
  int64_t count;
  uint32_t class_id;
  const char *target = xml_attr(wire->at, "target");
  if (!xml_number(r->c, r->path, wire->at, (XmlNumber){"count", 1, 64, 1}, &count)) return false;
  if (!xml_hex(r->c, r->path, wire->at, "tclass", &class_id)) return false;
  int32_t to = link_target(r, target ? target : "", class_id);
  if (to < 0 || to == wire->from)
    return error_at(r->c, at(r, wire->at), "topology-value",
                    "target=\"%.40s\" is no other device of the file", target ? target : "");
  int32_t a = wire->from < to ? wire->from : to, b = wire->from < to ? to : wire->from;
  const Device *gpu = &r->node->devices.at[wire->from];
  const GpuModel *model = gpu_model(gpu->vendor_id, gpu->device_id);
  bool is_nvlink = xml_is(wire->at, "nvlink");
  double each = model && model->link_gb_s > 0 ? model->link_gb_s : is_nvlink ? 25 : 0;
  FastLink link = {is_nvlink ? LINKS_NVLINK : LINKS_XGMI, a, b, (int32_t)count,
                   each * (double)count};
  FastLink *known = find_link(r->node, a, b);
  if (known && known->count < link.count) *known = link;
  if (!known) VEC_PUSH(r->c->arena, &r->node->links, link);
  return true;
}

/* Reports a device outside of a <cpu>, which NCCL ignores. */
static bool is_outside(NcclReader *r, const xmlNode *child) {
  if (!xml_is(child, "pci") && !xml_is(child, "nic") && !xml_is(child, "gpu")) return false;
  error_at(r->c, at(r, child), "topology-value", "<%s> is outside of a <cpu>",
           (const char *)child->name);
  fix_last(r->c, "move it into the <cpu> of its NUMA node");
  return true;
}

bool nccl_read(Compile *c, const char *path, const xmlNode *root, HostNode *node) {
  NcclReader r = {.c = c, .path = path, .node = node};
  const char *version = xml_attr(root, "version");
  if (!version || (strcmp(version, "1") != 0 && strcmp(version, "2") != 0)) {
    error_at(c, xml_span(path, root), "topology-version",
             "NCCL topology version \"%.20s\"; 1 (NCCL) and 2 (RCCL) are read",
             version ? version : "");
    if (!version) fix_last(c, "<system version=\"1\">");
    return false;
  }
  node->source = *version == '1' ? "NCCL topology 1" : "RCCL topology 2";
  for (const xmlNode *child = root->children; child; child = child->next) {
    if (is_outside(&r, child)) return false;
    if (xml_is(child, "cpu") && !read_cpu(&r, child)) return false;
  }
  if (node->numas.count == 0) {
    error_at(c, xml_span(path, root), "topology-value", "the file describes no <cpu>");
    fix_last(c, "<cpu numaid=\"0\"> around the <pci> of each NUMA node");
    return false;
  }
  for (int32_t i = 0; i < r.wires.count; i++)
    if (!add_wire(&r, &r.wires.at[i])) return false;
  return true;
}
