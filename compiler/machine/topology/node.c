/* node.c -- sets of CPUs, and what is computed from a description after it is read. */
#include "compiler/machine/topology/node.h"

#include <string.h>

#include "compiler/machine/topology/models.h"

/* ---- sets of CPUs */

CpuSet *cpuset_new(Arena *arena) {
  return ARENA_NEW(arena, CpuSet);
}

bool cpuset_add(CpuSet *set, int64_t cpu) {
  if (cpu < 0 || cpu >= CPUS_MOST) return false;
  set->words[cpu / 64] |= (uint64_t)1 << (cpu % 64);
  return true;
}

static bool cpuset_has(const CpuSet *set, int32_t cpu) {
  return cpu < CPUS_MOST && (set->words[cpu / 64] >> (cpu % 64) & 1) != 0;
}

bool cpuset_is_empty(const CpuSet *set) {
  return cpuset_count(set) == 0;
}

bool cpuset_equal(const CpuSet *a, const CpuSet *b) {
  return memcmp(a->words, b->words, sizeof a->words) == 0;
}

bool cpuset_is_within(const CpuSet *inner, const CpuSet *outer) {
  for (size_t i = 0; i < sizeof inner->words / sizeof *inner->words; i++)
    if (inner->words[i] & ~outer->words[i]) return false;
  return true;
}

bool cpuset_take(CpuSet *into, const CpuSet *added) {
  bool is_shared = false;
  for (size_t i = 0; i < sizeof into->words / sizeof *into->words; i++) {
    is_shared |= (into->words[i] & added->words[i]) != 0;
    into->words[i] |= added->words[i];
  }
  return is_shared;
}

void cpuset_remove(CpuSet *from, const CpuSet *removed) {
  for (size_t i = 0; i < sizeof from->words / sizeof *from->words; i++)
    from->words[i] &= ~removed->words[i];
}

int32_t cpuset_count(const CpuSet *set) {
  int32_t count = 0;
  for (size_t i = 0; i < sizeof set->words / sizeof *set->words; i++)
    count += __builtin_popcountll(set->words[i]);
  return count;
}

CpuSet *cpuset_first(Arena *arena, const CpuSet *set) {
  CpuSet *first = cpuset_new(arena);
  int32_t cpu = 0;
  while (cpu < CPUS_MOST && !cpuset_has(set, cpu))
    cpu++;
  (void)cpuset_add(first, cpu);
  return first;
}

CpuSet *cpuset_part(Arena *arena, const CpuSet *set, int32_t part, int32_t parts) {
  CpuSet *found = cpuset_new(arena);
  for (int32_t first = 0, last; first < CPUS_MOST; first = last + 1) {
    for (last = first; cpuset_has(set, last);)
      last++;
    int32_t each = (last - first) / parts;
    for (int32_t cpu = first + part * each; cpu < first + (part + 1) * each; cpu++)
      (void)cpuset_add(found, cpu);
  }
  return found;
}

const char *cpuset_text(Arena *arena, const CpuSet *set) {
  char text[CPUS_MOST * 5 + 1] = "none"; /* every other CPU, in four digits and a comma, at most */
  size_t length = 0;
  for (int32_t cpu = 0; cpu < CPUS_MOST; cpu++) {
    if (!cpuset_has(set, cpu)) continue;
    int32_t last = cpu;
    while (cpuset_has(set, last + 1))
      last++;
    length += (size_t)snprintf(text + length, sizeof text - length, "%s%d", length ? "," : "", cpu);
    if (last > cpu) length += (size_t)snprintf(text + length, sizeof text - length, "-%d", last);
    cpu = last;
  }
  return arena_copy(arena, text);
}

/* ---- numbers */

/* The driver's number, else the place on the PCI bus; NICs by name, mlx5_2 before mlx5_10. */
static bool goes_before(const Device *a, const Device *b, bool by_source) {
  if (by_source) return a->source_number < b->source_number;
  if (a->kind == DEVICE_NIC && a->is_fabric != b->is_fabric) return a->is_fabric;
  if (a->kind == DEVICE_NIC && a->name && b->name) return strverscmp(a->name, b->name) < 0;
  return strcmp(a->pci ? a->pci : "", b->pci ? b->pci : "") < 0;
}

/* GPUs are numbered as their driver does when the source gives each its own number. */
static bool has_source_numbers(const HostNode *node, const int32_t *list, int32_t count) {
  for (int32_t i = 0; i < count; i++) {
    int32_t number = node->devices.at[list[i]].source_number;
    if (number < 0 || node->devices.at[list[i]].kind != DEVICE_GPU) return false;
    for (int32_t j = 0; j < i; j++)
      if (node->devices.at[list[j]].source_number == number) return false;
  }
  return true;
}

static void number(HostNode *node, int32_t *list, int32_t count) {
  bool by_source = has_source_numbers(node, list, count);
  Device *devices = node->devices.at;
  for (int32_t i = 1; i < count; i++) {
    int32_t moving = list[i], j = i;
    for (; j > 0 && goes_before(&devices[moving], &devices[list[j - 1]], by_source); j--)
      list[j] = list[j - 1];
    list[j] = moving;
  }
  for (int32_t i = 0; i < count; i++)
    devices[list[i]].number = i;
}

static void list_devices(Compile *c, HostNode *node) {
  for (int32_t i = 0; i < node->devices.count; i++) {
    device_complete(&node->devices.at[i]);
    DeviceKind kind = node->devices.at[i].kind;
    if (kind == DEVICE_GPU) VEC_PUSH(c->arena, &node->gpus, i);
    if (kind == DEVICE_NIC) VEC_PUSH(c->arena, &node->nics, i);
    if (kind == DEVICE_NVSWITCH) VEC_PUSH(c->arena, &node->nvswitches, i);
  }
}

/* ---- fast links */

static void put_pair(HostNode *node, int32_t a, int32_t b, FastPair pair) {
  int32_t n = node->gpus.count;
  node->pairs[a * n + b] = node->pairs[b * n + a] = pair;
}

static void pair_directly(HostNode *node) {
  for (int32_t i = 0; i < node->links.count; i++) {
    const FastLink *link = &node->links.at[i];
    const Device *a = &node->devices.at[link->a], *b = &node->devices.at[link->b];
    if (a->kind != DEVICE_GPU || b->kind != DEVICE_GPU) continue;
    LinkClass link_class = link->kind == LINKS_XGMI ? LINK_XGMI : LINK_NV;
    put_pair(node, a->number, b->number, (FastPair){link_class, link->count, link->gb_s});
  }
}

/* The links of GPUs to each switch. */
typedef struct SwitchLinks {
  int32_t gpus, switches;
  FastLink *to; /* gpus x switches */
} SwitchLinks;

static SwitchLinks read_fabric(Compile *c, const HostNode *node) {
  SwitchLinks fabric = {.gpus = node->gpus.count, .switches = node->nvswitches.count};
  fabric.to = ARENA_ARRAY(c->arena, FastLink, fabric.gpus * fabric.switches + 1);
  for (int32_t i = 0; i < node->links.count; i++) {
    const FastLink *link = &node->links.at[i];
    const Device *a = &node->devices.at[link->a], *b = &node->devices.at[link->b];
    if (a->kind == DEVICE_NVSWITCH) {
      const Device *swap = a;
      a = b, b = swap;
    }
    if (a->kind == DEVICE_GPU && b->kind == DEVICE_NVSWITCH)
      fabric.to[a->number * fabric.switches + b->number] = *link;
  }
  return fabric;
}

/* The smaller of the links that each GPU has to a switch. GPUs without a common switch are on two
 * boards, as in a DGX-2, whose switches have as many links between them: no source lists those, and
 * hwloc also connects all switches. */
static FastPair through_switches(const SwitchLinks *fabric, int32_t a, int32_t b) {
  FastPair common = {0}, from = {0}, into = {0};
  for (int32_t s = 0; s < fabric->switches; s++) {
    const FastLink *x = &fabric->to[a * fabric->switches + s],
                   *y = &fabric->to[b * fabric->switches + s];
    common.count += x->count < y->count ? x->count : y->count;
    common.gb_s += x->gb_s < y->gb_s ? x->gb_s : y->gb_s;
    from.count += x->count, from.gb_s += x->gb_s;
    into.count += y->count, into.gb_s += y->gb_s;
  }
  if (common.count == 0) common = from.count < into.count ? from : into;
  if (common.count > 0) common.link_class = LINK_NVS;
  return common;
}

static void pair_through_switches(Compile *c, HostNode *node) {
  const SwitchLinks fabric = read_fabric(c, node);
  for (int32_t a = 0; a < fabric.gpus; a++)
    for (int32_t b = 0; b < a; b++) {
      FastPair pair = through_switches(&fabric, a, b);
      if (pair.link_class == LINK_NVS) put_pair(node, a, b, pair);
    }
}

/* GPUs that fast links connect, directly or over others, are one domain. */
static void find_domains(Compile *c, HostNode *node) {
  int32_t n = node->gpus.count;
  node->domains = ARENA_ARRAY(c->arena, int32_t, n + 1);
  int32_t *queue = ARENA_ARRAY(c->arena, int32_t, n + 1);
  for (int32_t i = 0; i < n; i++)
    node->domains[i] = -1;
  for (int32_t first = 0; first < n; first++) {
    if (node->domains[first] >= 0) continue;
    int32_t head = 0, tail = 0;
    queue[tail++] = first;
    node->domains[first] = node->domain_count;
    while (head < tail) {
      int32_t a = queue[head++];
      for (int32_t b = 0; b < n; b++) {
        if (node->domains[b] >= 0 || node->pairs[a * n + b].link_class == LINK_SELF) continue;
        node->domains[b] = node->domain_count;
        queue[tail++] = b;
      }
    }
    node->domain_count++;
  }
}

bool node_finish(Compile *c, Span span, HostNode *node) {
  list_devices(c, node);
  if (node->gpus.count > GPUS_MOST)
    return error_at(c, span, "topology-limit", "%d GPUs in one machine; %d is the most",
                    node->gpus.count, GPUS_MOST);
  if (node->nics.count > NICS_MOST)
    return error_at(c, span, "topology-limit", "%d NICs in one machine; %d is the most",
                    node->nics.count, NICS_MOST);
  if (node->nvswitches.count > NVSWITCHES_MOST)
    return error_at(c, span, "topology-limit", "%d NVSwitches in one machine; %d is the most",
                    node->nvswitches.count, NVSWITCHES_MOST);
  number(node, node->gpus.at, node->gpus.count);
  number(node, node->nics.at, node->nics.count);
  number(node, node->nvswitches.at, node->nvswitches.count);
  node->pairs = ARENA_ARRAY(c->arena, FastPair, node->gpus.count * node->gpus.count + 1);
  pair_directly(node);
  pair_through_switches(c, node);
  find_domains(c, node);
  return true;
}
