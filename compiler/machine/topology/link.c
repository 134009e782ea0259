/* link.c -- the path between two devices: its class and bandwidth, and which devices are near each
 * other. */
#include <string.h>

#include "compiler/machine/topology/node.h"

/* ---- class */

bool topology_is_same_card(const Device *a, const Device *b) {
  if (!a->pci || !b->pci) return false;
  size_t length = strcspn(a->pci, ".");
  return length == strcspn(b->pci, ".") && strncmp(a->pci, b->pci, length) == 0;
}

/* The lowest bridge above both, or -1. `a` and `b` may be bridges themselves. */
static int32_t common_bridge(const HostNode *node, int32_t a, int32_t b) {
  for (int32_t above_a = node->devices.at[a].parent; above_a >= 0;
       above_a = node->devices.at[above_a].parent)
    for (int32_t above_b = node->devices.at[b].parent; above_b >= 0;
         above_b = node->devices.at[above_b].parent)
      if (above_a == above_b) return above_a;
  return -1;
}

static LinkClass pci_class(const HostNode *node, int32_t a, int32_t b) {
  const Device *x = &node->devices.at[a], *y = &node->devices.at[b];
  if (topology_is_same_card(x, y) && x->parent == y->parent) return LINK_PIX;
  if (common_bridge(node, a, b) >= 0) return x->parent == y->parent ? LINK_PIX : LINK_PXB;
  if (x->host >= 0 && x->host == y->host) return LINK_PHB;
  if (x->numa >= 0 || y->numa >= 0) return x->numa == y->numa ? LINK_NODE : LINK_SYS;
  return x->package >= 0 && x->package == y->package ? LINK_NODE : LINK_SYS;
}

static const FastPair *fast_pair(const HostNode *node, int32_t a, int32_t b) {
  const Device *x = &node->devices.at[a], *y = &node->devices.at[b];
  if (x->kind != DEVICE_GPU || y->kind != DEVICE_GPU) return NULL;
  const FastPair *pair = &node->pairs[x->number * node->gpus.count + y->number];
  return pair->link_class == LINK_SELF ? NULL : pair;
}

LinkClass topology_link_class(const HostNode *node, int32_t a, int32_t b) {
  if (a == b) return LINK_SELF;
  const FastPair *fast = fast_pair(node, a, b);
  return fast ? fast->link_class : pci_class(node, a, b);
}

int32_t topology_link_count(const HostNode *node, int32_t a, int32_t b) {
  const FastPair *fast = fast_pair(node, a, b);
  return fast ? fast->count : 0;
}

const char *link_class_name(LinkClass link_class) {
  static const char *const names[] = {"X", "NV", "NVS", "XGMI", "PIX", "PXB", "PHB", "NODE", "SYS"};
  return names[link_class];
}

const char *topology_link_text(const HostNode *node, int32_t a, int32_t b, char *text) {
  LinkClass link_class = topology_link_class(node, a, b);
  if (link_class == LINK_NV || link_class == LINK_NVS)
    snprintf(text, 8, "NV%d", topology_link_count(node, a, b) % 1000);
  else
    snprintf(text, 8, "%s", link_class_name(link_class));
  return text;
}

/* ---- bandwidth
 *
 * PCIe: 16 lanes of generation 3 carry 15.75 GB/s and give 12 to large messages, and so for the
 * others: NCCL (src/graph/topo.h, PCI_BW) counts on that share. Between sockets NCCL counts on 10
 * GB/s for Intel since Skylake and 6 before, 16 for AMD, 32 for POWER9 and 6 for Arm (SKL_QPI_BW,
 * AMD_BW, P9_BW, ARM_BW there). NVLink gives about four fifths of its 25 GB/s a link (20 of
 * SM70_NVLINK_BW and SM80_NVLINK_BW); xGMI numbers are RCCL's, net already. */

static const double pcie_share = 12.0 / 15.754, nvlink_share = 20.0 / 25.0;

static double between_sockets_gb_s(CpuMaker maker) {
  static const double rates[] = {
      [CPU_UNKNOWN] = 6, [CPU_INTEL] = 10, [CPU_AMD] = 16, [CPU_IBM] = 32, [CPU_ARM] = 6};
  return rates[maker];
}

/* The least of two, where 0 is unknown. */
static double least_known(double a, double b) {
  if (a <= 0) return b;
  return b <= 0 || a < b ? a : b;
}

/* The bandwidth from a device up to a bridge, without the bridge's own link; -1: up to the host
 * bridge. NVLink-C2C is never the narrowest part of a path. */
static double climb_gb_s(const HostNode *node, int32_t device, int32_t bridge) {
  double least = 0;
  if (node->devices.at[device].is_c2c) return 0;
  for (; device >= 0 && device != bridge; device = node->devices.at[device].parent)
    least = least_known(least, node->devices.at[device].pcie_gb_s);
  return least;
}

double topology_bandwidth(const HostNode *node, int32_t a, int32_t b) {
  if (a == b) return 0;
  const FastPair *fast = fast_pair(node, a, b);
  if (fast) return fast->gb_s * (fast->link_class == LINK_XGMI ? 1 : nvlink_share);
  int32_t bridge = common_bridge(node, a, b);
  double least = least_known(climb_gb_s(node, a, bridge), climb_gb_s(node, b, bridge)) * pcie_share;
  if (topology_link_class(node, a, b) == LINK_SYS && least > 0)
    least = least_known(least, between_sockets_gb_s(node->maker));
  for (int32_t i = 0; i < 2; i++) {
    const Device *device = &node->devices.at[i == 0 ? a : b];
    if (device->kind == DEVICE_NIC) least = least_known(least, device->rate_gbit_s / 8);
  }
  return least;
}

/* ---- near */

bool topology_carries(const Device *nic) {
  return nic->is_fabric && !nic->is_down;
}

LinkClass topology_rails(const HostNode *node, int32_t gpu, bool *is_rail) {
  int32_t device = node->gpus.at[gpu];
  LinkClass nearest = LINK_SYS;
  double rates[NICS_MOST], fastest = 0;
  for (int32_t n = 0; n < node->nics.count; n++) {
    LinkClass class = topology_link_class(node, device, node->nics.at[n]);
    if (topology_carries(&node->devices.at[node->nics.at[n]]) && class < nearest) nearest = class;
  }
  for (int32_t n = 0; n < node->nics.count; n++) {
    int32_t nic = node->nics.at[n];
    is_rail[n] = topology_carries(&node->devices.at[nic]) &&
                 topology_link_class(node, device, nic) == nearest;
    rates[n] = is_rail[n] ? topology_bandwidth(node, device, nic) : 0;
    if (rates[n] > fastest) fastest = rates[n];
  }
  for (int32_t n = 0; n < node->nics.count; n++)
    if (rates[n] > 0 && rates[n] < fastest / 2) is_rail[n] = false;
  return nearest;
}

/* True if rail `n` is better for a GPU than rail `best`: by socket, then by how many GPUs use it
 * already, then by bandwidth. */
static bool is_better_rail(const HostNode *node, int32_t gpu, int32_t n, int32_t best,
                           const int32_t *users) {
  int32_t one = node->nics.at[n], other = node->nics.at[best], device = node->gpus.at[gpu];
  int32_t package = node->devices.at[device].package;
  bool is_one = package >= 0 && node->devices.at[one].package == package,
       is_other = package >= 0 && node->devices.at[other].package == package;
  if (is_one != is_other) return is_one;
  if (users[n] != users[best]) return users[n] < users[best];
  return topology_bandwidth(node, device, one) > topology_bandwidth(node, device, other);
}

/* Assigned GPU by GPU: NICs that are near to several GPUs are used in turn. */
int32_t topology_near_nic(const HostNode *node, int32_t gpu) {
  int32_t users[NICS_MOST] = {0}, chosen = -1;
  bool is_rail[NICS_MOST];
  for (int32_t g = 0; g <= gpu && g < node->gpus.count; g++) {
    int32_t best = -1;
    (void)topology_rails(node, g, is_rail);
    for (int32_t n = 0; n < node->nics.count; n++)
      if (is_rail[n] && (best < 0 || is_better_rail(node, g, n, best, users))) best = n;
    chosen = best < 0 ? -1 : node->nics.at[best];
    if (best >= 0) users[best]++;
  }
  return chosen;
}

int32_t topology_near_cores(const HostNode *node, int32_t device, int32_t *cores) {
  const Device *at = &node->devices.at[device];
  int32_t count = 0;
  for (int32_t i = 0; i < node->cores.count; i++) {
    const Core *core = &node->cores.at[i];
    bool is_near = at->numa >= 0      ? core->numa >= 0 && (core->numa == at->numa)
                   : at->package >= 0 ? core->package == at->package
                                      : true;
    if (is_near) cores[count++] = i;
  }
  return count;
}
