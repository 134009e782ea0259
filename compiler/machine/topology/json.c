/* json.c -- a machine as JSON, with everything that is known. */
#include <string.h>

#include "compiler/machine/topology/picture.h"

static void text(const char *name, const char *value, FILE *out) {
  fprintf(out, ", \"%s\": ", name);
  if (value)
    print_json_text(value, out);
  else
    fputs("null", out);
}

static void print_numas(Arena *arena, const HostNode *node, FILE *out) {
  fputs(", \"numa\": [", out);
  for (int32_t i = 0; i < node->numas.count; i++) {
    const NumaNode *numa = &node->numas.at[i];
    fprintf(out,
            "%s\n  {\"os_index\": %d, \"package\": %d, \"memory_bytes\": %lld, \"cpus\": \"%s\"}",
            i > 0 ? "," : "", numa->os_index, numa->package, (long long)numa->memory_bytes,
            cpuset_text(arena, numa->cpus));
  }
  fputs("]", out);
}

static void print_place(const HostNode *node, const Device *device, FILE *out) {
  text("name", device->name, out);
  text("pci", device->pci, out);
  text("model", device->model, out);
  fprintf(out, ", \"numa\": %d, \"package\": %d, \"pcie_gb_s\": %.2f",
          device->numa < 0 ? -1 : node->numas.at[device->numa].os_index, device->package,
          device->pcie_gb_s);
}

static void print_gpus(const HostNode *node, FILE *out) {
  fputs(", \"gpus\": [", out);
  for (int32_t g = 0; g < node->gpus.count; g++) {
    const Device *device = &node->devices.at[node->gpus.at[g]];
    int32_t nic = topology_near_nic(node, g);
    fprintf(out, "%s\n  {\"number\": %d", g > 0 ? "," : "", g);
    print_place(node, device, out);
    fprintf(out, ", \"memory_bytes\": %lld, \"units\": %d, \"domain\": %d, \"nic\": ",
            (long long)device->memory_bytes, device->sms, node->domains[g]);
    if (nic >= 0)
      fprintf(out, "%d}", node->devices.at[nic].number);
    else
      fputs("null}", out);
  }
  fputs("]", out);
}

static void print_nics(const HostNode *node, FILE *out) {
  fputs(", \"nics\": [", out);
  for (int32_t i = 0; i < node->nics.count; i++) {
    const Device *device = &node->devices.at[node->nics.at[i]];
    fprintf(out, "%s\n  {\"number\": %d", i > 0 ? "," : "", i);
    print_place(node, device, out);
    fprintf(out, ", \"rate_gbit_s\": %.0f, \"nominal\": %s, \"fabric\": %s}", device->rate_gbit_s,
            device->is_rate_nominal ? "true" : "false", device->is_fabric ? "true" : "false");
  }
  fputs("]", out);
}

static bool is_listed(const Device *device) {
  return device->kind == DEVICE_GPU || (device->kind == DEVICE_NIC && device->is_fabric);
}

/* Every pair of GPUs and fabric NICs once. */
static void print_paths(Arena *arena, const HostNode *node, FILE *out) {
  bool is_first = true;
  fputs(", \"paths\": [", out);
  for (int32_t a = 0; a < node->devices.count; a++)
    for (int32_t b = a + 1; b < node->devices.count; b++) {
      const Device *x = &node->devices.at[a], *y = &node->devices.at[b];
      if (!is_listed(x) || !is_listed(y)) continue;
      fprintf(
          out,
          "%s\n  {\"a\": \"%s\", \"b\": \"%s\", \"class\": \"%s\", \"links\": %d, \"gb_s\": %.1f}",
          is_first ? "" : ",", device_label(arena, x), device_label(arena, y),
          link_class_name(topology_link_class(node, a, b)), topology_link_count(node, a, b),
          topology_bandwidth(node, a, b));
      is_first = false;
    }
  fputs("]", out);
}

void node_json(Arena *arena, const HostNode *node, FILE *out) {
  fputs("{\"source\": ", out);
  print_json_text(node->source, out);
  text("name", node->name, out);
  text("cpu", node->cpu, out);
  fprintf(out, ", \"packages\": %d, \"cores\": %d, \"nvswitches\": %d", node->packages.count,
          node->cores.count, node->nvswitches.count);
  print_numas(arena, node, out);
  print_gpus(node, out);
  print_nics(node, out);
  print_paths(arena, node, out);
  Warnings warnings = topology_warnings(arena, node);
  fputs(", \"warnings\": [", out);
  for (int32_t i = 0; i < warnings.list.count; i++) {
    fprintf(out, "%s\n  {\"name\": \"%s\", \"text\": ", i > 0 ? "," : "", warnings.list.at[i].name);
    print_json_text(warnings.list.at[i].text, out);
    fputs("}", out);
  }
  fputs("]}", out);
}
