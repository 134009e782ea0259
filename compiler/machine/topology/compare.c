/* compare.c -- compares this machine with a description: counts, models, rates and paths. What a
 * description does not say is not compared. */
#include <math.h>
#include <string.h>

#include "compiler/machine/topology/picture.h"

typedef struct Comparison {
  Arena *arena;
  const HostNode *wanted, *found;
  Differences differences;
} Comparison;

static void differ(Comparison *k, const char *line) {
  VEC_PUSH(k->arena, &k->differences.list, line);
}

static void compare_counts(Comparison *k, const char *what, int64_t wanted, int64_t found) {
  if (wanted == 0 || wanted == found) return;
  differ(k, arena_printf(k->arena, "%s: %lld described, %lld here", what, (long long)wanted,
                         (long long)found));
}

/* Firmware keeps a little of the memory, and not the same everywhere: 2 %. */
static bool is_near(double wanted, double found) {
  return wanted <= 0 || fabs(wanted - found) <= 0.02 * wanted;
}

static const NumaNode *find_numa(const HostNode *node, int32_t os_index) {
  for (int32_t i = 0; i < node->numas.count; i++)
    if (node->numas.at[i].os_index == os_index) return &node->numas.at[i];
  return NULL;
}

static void compare_numas(Comparison *k) {
  for (int32_t i = 0; i < k->wanted->numas.count; i++) {
    const NumaNode *wanted = &k->wanted->numas.at[i];
    const NumaNode *found = find_numa(k->found, wanted->os_index);
    if (!found) continue; /* their count differs, which is reported */
    if (!is_near((double)wanted->memory_bytes, (double)found->memory_bytes))
      differ(k, arena_printf(k->arena, "memory of NUMA node %d: %s described, %s here",
                             wanted->os_index, format_bytes(k->arena, wanted->memory_bytes),
                             format_bytes(k->arena, found->memory_bytes)));
    if (!cpuset_is_empty(wanted->cpus) && !cpuset_equal(wanted->cpus, found->cpus))
      differ(k, arena_printf(k->arena, "CPUs of NUMA node %d: %.60s described, %.60s here",
                             wanted->os_index, cpuset_text(k->arena, wanted->cpus),
                             cpuset_text(k->arena, found->cpus)));
  }
}

static void compare_device(Comparison *k, const Device *wanted, const Device *found) {
  const char *label = device_label(k->arena, wanted);
  if (wanted->device_id &&
      (wanted->device_id != found->device_id || wanted->vendor_id != found->vendor_id))
    differ(k, arena_printf(k->arena, "%s: %s (%04x:%04x) described, %s (%04x:%04x) here", label,
                           wanted->model ? wanted->model : "a device", wanted->vendor_id,
                           wanted->device_id, found->model ? found->model : "a device",
                           found->vendor_id, found->device_id));
  if (!is_near((double)wanted->memory_bytes, (double)found->memory_bytes) &&
      found->memory_bytes > 0)
    differ(k, arena_printf(k->arena, "%s: %s of memory described, %s here", label,
                           format_bytes(k->arena, wanted->memory_bytes),
                           format_bytes(k->arena, found->memory_bytes)));
  bool is_slower =
      wanted->pcie_gb_s > 0 && found->pcie_gb_s > 0 && found->pcie_gb_s < 0.75 * wanted->pcie_gb_s;
  if (is_slower)
    differ(k, arena_printf(k->arena, "%s: PCIe of %.1f GB/s described, %.1f here", label,
                           wanted->pcie_gb_s, found->pcie_gb_s));
  if (wanted->rate_gbit_s > 0 && found->rate_gbit_s > 0 &&
      !is_near(wanted->rate_gbit_s, found->rate_gbit_s))
    differ(k, arena_printf(k->arena, "%s: %.0f Gbit/s described, %.0f here", label,
                           wanted->rate_gbit_s, found->rate_gbit_s));
}

static void compare_paths(Comparison *k) {
  int32_t n = k->wanted->gpus.count;
  for (int32_t a = 0; a < n; a++)
    for (int32_t b = a + 1; b < n; b++) {
      char wanted[8], found[8];
      topology_link_text(k->wanted, k->wanted->gpus.at[a], k->wanted->gpus.at[b], wanted);
      topology_link_text(k->found, k->found->gpus.at[a], k->found->gpus.at[b], found);
      if (strcmp(wanted, found) != 0)
        differ(k, arena_printf(k->arena, "GPU%d to GPU%d: %s described, %s here", a, b, wanted,
                               found));
    }
}

Differences node_compare(Arena *arena, const HostNode *wanted, const HostNode *found) {
  Comparison k = {.arena = arena, .wanted = wanted, .found = found};
  compare_counts(&k, "packages", wanted->packages.count, found->packages.count);
  compare_counts(&k, "NUMA nodes", wanted->numas.count, found->numas.count);
  compare_counts(&k, "cores", wanted->cores.count, found->cores.count);
  if (wanted->gpus.count != found->gpus.count)
    differ(&k, arena_printf(arena, "GPUs: %d described, %d here", wanted->gpus.count,
                            found->gpus.count));
  if (wanted->nics.count != found->nics.count)
    differ(&k, arena_printf(arena, "NICs: %d described, %d here", wanted->nics.count,
                            found->nics.count));
  compare_numas(&k);
  if (wanted->gpus.count == found->gpus.count) {
    for (int32_t g = 0; g < wanted->gpus.count; g++)
      compare_device(&k, &wanted->devices.at[wanted->gpus.at[g]],
                     &found->devices.at[found->gpus.at[g]]);
    compare_paths(&k);
  }
  for (int32_t i = 0; i < wanted->nics.count && wanted->nics.count == found->nics.count; i++)
    compare_device(&k, &wanted->devices.at[wanted->nics.at[i]],
                   &found->devices.at[found->nics.at[i]]);
  return k.differences;
}
