/* describe.c -- makes seats of what hwloc and NCCL files say about a node: devices, the links
 * between them, shares of NICs, cores. */
#include "compiler/machine/place/describe.h"

#include <string.h>

#include "compiler/machine/place/rate.h"
#include "compiler/machine/topology/read.h"

typedef struct Seating {
  Compile *c;
  const HostNode *host;  /* links and NICs */
  const HostNode *cores; /* the same node, with cores; NULL: not described */
  int32_t count;         /* the first GPUs take ranks */
  Seat *seats;
} Seating;

static int32_t gpu_of(const Seating *s, int32_t seat) {
  return s->host->gpus.at[seat];
}

/* ---- links */

static SeatPair *pair_seats(const Seating *s) {
  SeatPair *pairs = ARENA_ARRAY(s->c->arena, SeatPair, s->count * s->count);
  for (int32_t a = 0; a < s->count; a++)
    for (int32_t b = 0; b < s->count; b++) {
      if (a == b) continue;
      LinkClass class = topology_link_class(s->host, gpu_of(s, a), gpu_of(s, b));
      pairs[a * s->count + b] =
          (SeatPair){topology_bandwidth(s->host, gpu_of(s, a), gpu_of(s, b)) * 1e9, class,
                     class == LINK_NV || class == LINK_XGMI};
    }
  return pairs;
}

/* ---- NICs */

static void find_rails(const Seating *s, int32_t seat) {
  Seat *at = &s->seats[seat];
  bool is_rail[NICS_MOST];
  at->nic_class = topology_rails(s->host, seat, is_rail);
  for (int32_t n = 0; n < s->host->nics.count; n++)
    if (is_rail[n]) at->rails[n / 64] |= (uint64_t)1 << n % 64;
}

static bool is_rail(const Seating *s, int32_t seat, int32_t n) {
  return (s->seats[seat].rails[n / 64] >> n % 64 & 1u) != 0;
}

/* Ports and functions of a card, which share its PCIe link. */
static int32_t functions_of(const Seating *s, int32_t nic) {
  int32_t count = 0;
  for (int32_t n = 0; n < s->host->nics.count; n++) {
    const Device *other = &s->host->devices.at[s->host->nics.at[n]];
    bool is_same = topology_is_same_card(other, &s->host->devices.at[nic]);
    count += s->host->nics.at[n] == nic || (is_same && topology_carries(other));
  }
  return count;
}

/* A NIC is shared by all seats that use it as a rail. */
static double share_of(const Seating *s, int32_t seat, int32_t n) {
  int32_t users = 0, nic = s->host->nics.at[n];
  for (int32_t other = 0; other < s->count; other++)
    users += is_rail(s, other, n);
  double rate = s->host->devices.at[nic].rate_gbit_s / 8;
  double path = topology_bandwidth(s->host, gpu_of(s, seat), nic) / functions_of(s, nic);
  return least_known(rate > 0 ? rate / users : path / users, path) * 1e9;
}

/* Called when all seats have their rails. */
static void find_share(const Seating *s, int32_t seat) {
  Seat *at = &s->seats[seat];
  int32_t nearest = topology_near_nic(s->host, seat);
  for (int32_t n = 0; n < s->host->nics.count; n++)
    if (is_rail(s, seat, n)) at->network_bytes_per_s += share_of(s, seat, n);
  if (nearest < 0) return;
  double own = s->host->devices.at[gpu_of(s, seat)].pcie_gb_s * 1e9; /* of all rails together */
  at->network_bytes_per_s = least_known(at->network_bytes_per_s, own);
  const Device *nic = &s->host->devices.at[nearest];
  at->nic = nic->name ? nic->name : nic->pci;
}

/* ---- cores */

/* The GPU in the description that has the cores: by PCI address, else by number. */
static int32_t device_with_cores(const Seating *s, int32_t seat) {
  const Device *gpu = &s->host->devices.at[gpu_of(s, seat)];
  if (s->cores == s->host) return gpu_of(s, seat);
  for (int32_t i = 0; gpu->pci && i < s->cores->gpus.count; i++) {
    const char *pci = s->cores->devices.at[s->cores->gpus.at[i]].pci;
    if (pci && strcmp(pci, gpu->pci) == 0) return s->cores->gpus.at[i];
  }
  return s->cores->gpus.count == s->host->gpus.count ? s->cores->gpus.at[seat] : -1;
}

/* Cores, and the seats near them. */
typedef struct NearRanks {
  int32_t *cores, core_count;
  int32_t *seats, seat_count;
} NearRanks;

static NearRanks near_of(const Seating *s, int32_t device) {
  NearRanks near = {.cores = ARENA_ARRAY(s->c->arena, int32_t, s->cores->cores.count + 1),
                    .seats = ARENA_ARRAY(s->c->arena, int32_t, s->count)};
  if (device >= 0) near.core_count = topology_near_cores(s->cores, device, near.cores);
  for (int32_t i = 0; near.core_count == 0 && i < s->cores->cores.count; i++)
    near.cores[i] = i; /* a NUMA node without cores: any */
  if (near.core_count == 0) near.core_count = s->cores->cores.count;
  return near;
}

static bool is_same_cores(const NearRanks *a, const NearRanks *b) {
  return a->core_count == b->core_count &&
         memcmp(a->cores, b->cores, sizeof *a->cores * (size_t)a->core_count) == 0;
}

/* Gives each seat an equal run of the cores that are still free. */
static void deal_cores(const Seating *s, const NearRanks *near, bool *is_taken) {
  int32_t free_count = 0, next = 0;
  for (int32_t i = 0; i < near->core_count; i++)
    free_count += !is_taken[near->cores[i]];
  int32_t each = free_count / near->seat_count;
  for (int32_t i = 0; each > 0 && i < near->seat_count; i++) {
    CpuSet *cpus = cpuset_new(s->c->arena);
    for (int32_t taken = 0; taken < each; next++) {
      int32_t core = near->cores[next];
      if (is_taken[core]) continue;
      is_taken[core] = true;
      (void)cpuset_take(cpus, s->cores->cores.at[core].cpus);
      taken++;
    }
    s->seats[near->seats[i]].cores = cpuset_text(s->c->arena, cpus);
  }
}

/* NCCL files have masks of CPUs, not cores. Linux numbers the second threads of cores in a separate
 * run, so each seat at a NUMA node gets an equal part of every run. */
static void deal_mask(const Seating *s, int32_t numa, CpuSet *taken) {
  int32_t seats[GPUS_MOST], count = 0;
  CpuSet *left = cpuset_new(s->c->arena);
  for (int32_t seat = 0; seat < s->count; seat++) {
    int32_t device = device_with_cores(s, seat);
    if (device >= 0 && s->cores->devices.at[device].numa == numa) seats[count++] = seat;
  }
  if (count == 0) return;
  (void)cpuset_take(left, s->cores->numas.at[numa].cpus);
  cpuset_remove(left, taken);
  (void)cpuset_take(taken, left);
  for (int32_t i = 0; i < count; i++) {
    CpuSet *part = cpuset_part(s->c->arena, left, i, count);
    if (!cpuset_is_empty(part)) s->seats[seats[i]].cores = cpuset_text(s->c->arena, part);
  }
}

static void find_masks(const Seating *s) {
  CpuSet *taken = cpuset_new(s->c->arena);
  for (int32_t numa = 0; numa < s->cores->numas.count; numa++)
    deal_mask(s, numa, taken);
}

/* Seats with fewer cores near them choose first. */
static void find_cores(const Seating *s) {
  VEC(NearRanks) all = {0};
  if (!s->cores) return;
  if (s->cores->cores.count == 0) {
    find_masks(s);
    return;
  }
  for (int32_t seat = 0; seat < s->count; seat++) {
    NearRanks near = near_of(s, device_with_cores(s, seat));
    int32_t at = 0;
    while (at < all.count && !is_same_cores(&all.at[at], &near))
      at++;
    if (at == all.count) VEC_PUSH(s->c->arena, &all, near);
    all.at[at].seats[all.at[at].seat_count++] = seat;
  }
  bool *is_taken = ARENA_ARRAY(s->c->arena, bool, s->cores->cores.count);
  for (int32_t done = 0; done < all.count; done++) {
    int32_t least = done;
    for (int32_t i = done + 1; i < all.count; i++)
      if (all.at[i].core_count < all.at[least].core_count) least = i;
    NearRanks near = all.at[least];
    all.at[least] = all.at[done];
    deal_cores(s, &near, is_taken);
  }
}

/* ---- a node */

static int32_t numa_of(const Seating *s, int32_t seat) {
  int32_t device = s->cores ? device_with_cores(s, seat) : -1;
  int32_t numa = device >= 0 ? s->cores->devices.at[device].numa : -1;
  return numa >= 0 ? s->cores->numas.at[numa].os_index : -1;
}

static void seat_devices(const Seating *s) {
  for (int32_t seat = 0; seat < s->count; seat++) {
    const Device *gpu = &s->host->devices.at[gpu_of(s, seat)];
    s->seats[seat] = (Seat){.device = gpu->number, .numa = numa_of(s, seat), .pci = gpu->pci};
    find_rails(s, seat);
  }
  for (int32_t seat = 0; seat < s->count; seat++)
    find_share(s, seat);
  find_cores(s);
}

/* NULL: no file is named, or reported. */
static const HostNode *read_node(Compile *c, const char *path, Span at, bool *is_good) {
  Topology topology;
  if (!path) return NULL;
  if (!topology_read(c, path, &topology)) {
    note_at(c, at, "named here");
    *is_good = false;
  } else if (!topology.node) {
    *is_good = error_at(c, at, "topology-kind", "%s describes a network, not a node", path);
    fix_last(c, "switches = \"%s\"", path);
  }
  return *is_good ? topology.node : NULL;
}

/* Instances of a GPU (MIG) have neither links nor their own memory in a description. */
static bool check_whole(Compile *c, const HostNode *host, const char *path, Span at) {
  for (int32_t g = 0; g < host->gpus.count; g++) {
    const Device *gpu = &host->devices.at[host->gpus.at[g]];
    if (gpu->instances < 2) continue;
    error_at(c, at, "topology-devices", "GPU%d of %s is divided into %d instance%s (MIG)", g, path,
             gpu->instances, plural(gpu->instances));
    fix_last(c, "describe the machine with MIG off, or devices, memory and intra as numbers");
    return false;
  }
  return true;
}

static bool check_counts(Compile *c, const Cluster *cluster, const ClusterType *type,
                         const HostNode *host, Span at) {
  const char *path = type->nccl_topo ? type->nccl_topo : type->hwloc;
  if (host->gpus.count == 0) {
    error_at(c, at, "topology-devices",
             "%s describes no GPUs; it may be exported without I/O devices", path);
    fix_last(c, "on that machine: lockstep topology gather -o node.xml");
    return false;
  }
  if (!check_whole(c, host, path, at)) return false;
  if (!cluster->is_device_said) {
    error_at(c, at, "topology-devices",
             "%s describes %d GPU%s, and the cluster's device is not said", path, host->gpus.count,
             plural(host->gpus.count));
    fix_last(c, "device = \"h100-sxm\", or what lockstep list devices has for them");
    return false;
  }
  if (type->devices <= host->gpus.count) return true;
  error_at(c, cluster->devices_at.file ? cluster->devices_at : at, "topology-devices",
           "%lld device%s a node, but %s describes %d", (long long)type->devices,
           plural(type->devices), path, host->gpus.count);
  fix_last(c, "devices = %d", host->gpus.count);
  return false;
}

/* hwloc's file may lack its I/O devices. */
static bool check_both(Compile *c, const ClusterType *type, const HostNode *hwloc,
                       const HostNode *nccl) {
  if (!hwloc || !nccl || hwloc->gpus.count == 0 || hwloc->gpus.count == nccl->gpus.count)
    return true;
  error_at(c, type->hwloc_at, "topology-devices",
           "%s describes %d GPU%s and %s %d: they are not of one machine", type->hwloc,
           hwloc->gpus.count, plural(hwloc->gpus.count), type->nccl_topo, nccl->gpus.count);
  fix_last(c, "two descriptions of one machine, or nccl_topo alone");
  return false;
}

/* ---- nodes of processors: ranks have equal runs of cores */

static const char *cores_of_run(Compile *c, const HostNode *host, int32_t first, int32_t count,
                                int32_t *numa) {
  CpuSet *cpus = cpuset_new(c->arena);
  *numa = host->cores.at[first].numa;
  for (int32_t i = first; i < first + count; i++) {
    CpuSet *one = cpuset_first(c->arena, host->cores.at[i].cpus);
    (void)cpuset_take(cpus, one);
    if (host->cores.at[i].numa != *numa) *numa = -1;
  }
  return cpuset_text(c->arena, cpus);
}

/* The NIC of this NUMA node, else the first; -1: none. */
static int32_t nic_at(const HostNode *host, int32_t numa) {
  int32_t found = -1;
  for (int32_t n = 0; n < host->nics.count; n++) {
    const Device *nic = &host->devices.at[host->nics.at[n]];
    if (!topology_carries(nic)) continue;
    if (found < 0 || (numa >= 0 && nic->numa == numa && host->devices.at[found].numa != numa))
      found = host->nics.at[n];
  }
  return found;
}

/* Every rank has an equal share of all NICs. */
static double nics_bytes_per_s(const HostNode *host) {
  double gbit_s = 0;
  for (int32_t n = 0; n < host->nics.count; n++) {
    const Device *nic = &host->devices.at[host->nics.at[n]];
    if (topology_carries(nic)) gbit_s += nic->rate_gbit_s;
  }
  return gbit_s / 8 * 1e9;
}

static bool describe_processors(Compile *c, const Cluster *cluster, const ClusterType *type,
                                const HostNode *host, NodeKind *kind) {
  int32_t count = kind->seat_count, cores = host->cores.count;
  if (cores == 0) return true;
  if (cores < count) {
    error_at(c, cluster->devices_at.file ? cluster->devices_at : type->hwloc_at, "topology-devices",
             "%d rank%s a node, and %s describes %d core%s", count, plural(count), type->hwloc,
             cores, plural(cores));
    fix_last(c, "devices = %d", cores);
    return false;
  }
  Seat *seats = ARENA_ARRAY(c->arena, Seat, count);
  double rate = type->inter_bytes_per_s > 0 ? type->inter_bytes_per_s
                                            : nics_bytes_per_s(host) / (double)count;
  for (int32_t i = 0; i < count; i++) {
    int32_t numa, nic;
    seats[i] = (Seat){.device = i, .numa = -1, .network_bytes_per_s = rate};
    seats[i].cores = cores_of_run(c, host, i * (cores / count), cores / count, &numa);
    if (numa >= 0) seats[i].numa = host->numas.at[numa].os_index;
    if ((nic = nic_at(host, numa)) < 0) continue;
    const Device *at = &host->devices.at[nic];
    seats[i].nic = at->name ? at->name : at->pci;
    seats[i].nic_class = numa >= 0 && at->numa == numa ? LINK_NODE : LINK_SYS;
    for (int32_t n = 0; n < host->nics.count; n++)
      if (topology_carries(&host->devices.at[host->nics.at[n]]))
        seats[i].rails[n / 64] |= (uint64_t)1 << n % 64;
  }
  kind->host = host;
  kind->seats = seats;
  return true;
}

static bool is_below(const HostNode *host, int32_t device, int32_t bridge) {
  while (device >= 0 && device != bridge)
    device = host->devices.at[device].parent;
  return device >= 0;
}

/* Devices of one PCIe switch share its link to the host. Returns the smallest part of its link that
 * a seat gets, from 0 to 1. */
static double link_share(const HostNode *host, int32_t seats) {
  double least = 1;
  for (int32_t seat = 0; seat < seats; seat++) {
    const Device *gpu = &host->devices.at[host->gpus.at[seat]];
    for (int32_t b = gpu->parent; b >= 0 && !gpu->is_c2c; b = host->devices.at[b].parent) {
      const double up_gb_s = host->devices.at[b].pcie_gb_s;
      const double wider = up_gb_s > 0 && gpu->pcie_gb_s > 0 ? up_gb_s / gpu->pcie_gb_s : 1;
      int32_t below = 0;
      for (int32_t other = 0; other < seats; other++)
        below += is_below(host, host->gpus.at[other], b);
      if (wider / below < least) least = wider / below;
    }
  }
  return least;
}

/* Keys of the job take precedence over the files. */
static void apply_keys(const ClusterType *type, NodeKind *kind, Seat *seats) {
  if (type->is_intra_nearer) kind->pairs = NULL;
  if (type->is_intra_nearer) kind->intra_bytes_per_s = type->intra_bytes_per_s;
  for (int32_t i = 0; type->is_inter_nearer && i < kind->seat_count; i++)
    seats[i].network_bytes_per_s = type->inter_bytes_per_s;
}

Seat *describe_seats(Compile *c, const HostNode *host, const HostNode *cores, NodeKind *kind) {
  if (kind->seat_count == 0) kind->seat_count = host->gpus.count;
  Seat *seats = ARENA_ARRAY(c->arena, Seat, kind->seat_count);
  Seating seating = {c, host, cores, kind->seat_count, seats};
  seat_devices(&seating);
  kind->host = host;
  kind->seats = seats;
  kind->pairs = pair_seats(&seating);
  return seats;
}

bool describe_kind(Compile *c, const Cluster *cluster, const ClusterType *type, NodeKind *kind) {
  bool is_good = true;
  *kind = (NodeKind){.name = type->name,
                     .link_share = 1,
                     .seat_count = (int32_t)type->devices,
                     .intra_bytes_per_s = type->intra_bytes_per_s,
                     .network_bytes_per_s = type->inter_bytes_per_s};
  const HostNode *hwloc = read_node(c, type->hwloc, type->hwloc_at, &is_good);
  const HostNode *nccl =
      is_good ? read_node(c, type->nccl_topo, type->nccl_topo_at, &is_good) : NULL;
  const HostNode *host = nccl ? nccl : hwloc;
  bool is_open = host && host->gpus.count > 0 && !cluster->is_device_said;
  if (!is_good || !host) return is_good;
  if (cluster->target == TARGET_CPU && !is_open)
    return describe_processors(c, cluster, type, host, kind);
  if (!check_both(c, type, hwloc, nccl)) return false;
  if (!check_counts(c, cluster, type, host, nccl ? type->nccl_topo_at : type->hwloc_at))
    return false;
  apply_keys(type, kind, describe_seats(c, host, hwloc ? hwloc : nccl, kind));
  kind->link_share = link_share(host, kind->seat_count);
  return true;
}
