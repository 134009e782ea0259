/* picture.c -- a machine as text: its devices and the links between them. */
#include "compiler/machine/topology/picture.h"

#include <string.h>

enum { COLUMNS_MOST = 80, NAME_COLUMN = 26 };

const char *device_label(Arena *arena, const Device *device) {
  static const char *const kinds[] = {"switch", "GPU", "NIC", "NVSwitch"};
  if (device->kind == DEVICE_BRIDGE) return device->pci ? device->pci : "switch";
  return arena_printf(arena, "%s%d", kinds[device->kind], device->number);
}

const char *device_address(const HostNode *node, const Device *device) {
  if (!device->pci) return "";
  for (int32_t i = 0; i < node->devices.count; i++) {
    const char *pci = node->devices.at[i].pci;
    DeviceKind kind = node->devices.at[i].kind;
    bool is_listed = kind == DEVICE_GPU || kind == DEVICE_NIC;
    if (is_listed && pci && strncmp(pci, "0000:", 5) != 0) return device->pci;
  }
  return strncmp(device->pci, "0000:", 5) == 0 ? device->pci + 5 : device->pci;
}

typedef struct Screen {
  Arena *arena;
  const HostNode *node;
  FILE *out;
  bool *is_shown; /* of each device: it, or something below it, is a GPU, NIC or NVSwitch */
  int32_t *forks; /* of each bridge: how many of its children are shown */
} Screen;

/* Two blanks keep what belongs together on one line where it wraps. */
static void line(const Screen *s, int32_t depth, const char *text) {
  int32_t indent = 2 * (depth < 12 ? depth : 12);
  fprintf(s->out, "%*s", indent, "");
  print_wrapped(s->out, text, indent, indent + 4, COLUMNS_MOST);
}

/* ---- devices */

static const char *details(const Screen *s, const Device *device) {
  const char *text = "";
  if (device->kind == DEVICE_NIC && device->name)
    text = arena_printf(s->arena, "%.24s", device->name);
  if (device->model)
    text = arena_printf(s->arena, "%s%s%.40s", text, *text ? "  " : "", device->model);
  else if (device->kind == DEVICE_GPU && device->vendor_id > 0)
    text = arena_printf(s->arena, "%04x:%04x", device->vendor_id, device->device_id);
  if (device->memory_bytes > 0)
    text = arena_printf(s->arena, "%s  %s", text, format_bytes(s->arena, device->memory_bytes));
  if (device->sms > 0) text = arena_printf(s->arena, "%s  %d units", text, device->sms);
  if (device->rate_gbit_s > 0)
    text = arena_printf(s->arena, "%s  %s%.0f Gbit/s", text,
                        device->is_rate_nominal ? "up to " : "", device->rate_gbit_s);
  if (device->kind == DEVICE_NIC && !device->is_fabric)
    text = arena_printf(s->arena, "%s  no fabric", text);
  if (device->is_c2c) text = arena_printf(s->arena, "%s  C2C", text);
  if (device->is_down) text = arena_printf(s->arena, "%s  down", text);
  if (device->pcie_gb_s > 0 && device->kind != DEVICE_NVSWITCH)
    text = arena_printf(s->arena, "%s  PCIe %.1f GB/s", text, device->pcie_gb_s);
  return text + strspn(text, " ");
}

static void print_device(const Screen *s, const Device *device, int32_t depth) {
  const char *text = details(s, device), *label = device_label(s->arena, device);
  const char *address = device_address(s->node, device);
  const char *gap = *address && *text ? "  " : "";
  line(s, depth, arena_printf(s->arena, "%-6s %s%s%s", label, address, gap, text));
}

static void print_below(const Screen *s, int32_t parent, int32_t depth);

/* A bridge with only one child is not shown. */
static void print_tree(const Screen *s, int32_t index, int32_t depth) {
  const Device *device = &s->node->devices.at[index];
  bool is_bridge = device->kind == DEVICE_BRIDGE;
  if (is_bridge && s->forks[index] > 1) {
    line(s, depth++,
         arena_printf(s->arena, "switch %s%s", device_address(s->node, device),
                      device->pcie_gb_s > 0
                          ? arena_printf(s->arena, "  PCIe %.1f GB/s up", device->pcie_gb_s)
                          : ""));
  } else if (!is_bridge) {
    print_device(s, device, depth);
  }
  print_below(s, index, depth);
}

static void print_below(const Screen *s, int32_t parent, int32_t depth) {
  for (int32_t i = 0; i < s->node->devices.count; i++)
    if (s->node->devices.at[i].parent == parent && s->is_shown[i]) print_tree(s, i, depth);
}

/* Devices at the top of the PCI tree that are near exactly this. */
static void print_near(const Screen *s, int32_t package, int32_t numa, int32_t depth) {
  for (int32_t i = 0; i < s->node->devices.count; i++) {
    const Device *device = &s->node->devices.at[i];
    bool is_here = device->numa == numa && (numa >= 0 || device->package == package);
    if (device->parent < 0 && is_here && s->is_shown[i]) print_tree(s, i, depth);
  }
}

/* ---- packages and NUMA nodes */

static int32_t cores_of(const HostNode *node, int32_t numa) {
  int32_t count = 0;
  for (int32_t i = 0; i < node->cores.count; i++)
    count += node->cores.at[i].numa == numa;
  return count;
}

static void print_numa(const Screen *s, int32_t index, int32_t depth) {
  const NumaNode *numa = &s->node->numas.at[index];
  const char *text =
      numa->os_index < 0 ? "no NUMA" : arena_printf(s->arena, "NUMA %d", numa->os_index);
  if (numa->memory_bytes > 0)
    text = arena_printf(s->arena, "%s  %s", text, format_bytes(s->arena, numa->memory_bytes));
  int32_t cores = cores_of(s->node, index), cpus = cpuset_count(numa->cpus);
  if (cores > 0) text = arena_printf(s->arena, "%s  %d core%s", text, cores, plural(cores));
  if (cpus == 0)
    text = arena_printf(s->arena, "%s  no CPUs", text);
  else
    text = arena_printf(s->arena, "%s  CPUs %s", text, cpuset_text(s->arena, numa->cpus));
  line(s, depth, text);
  print_near(s, -1, index, depth + 1);
}

static void print_packages(const Screen *s) {
  const HostNode *node = s->node;
  for (int32_t p = 0; p < node->packages.count; p++) {
    line(s, 0, arena_printf(s->arena, "package %d", node->packages.at[p].os_index));
    for (int32_t i = 0; i < node->numas.count; i++)
      if (node->numas.at[i].package == p) print_numa(s, i, 1);
    print_near(s, p, -1, 1);
  }
  for (int32_t i = 0; i < node->numas.count; i++)
    if (node->numas.at[i].package < 0) print_numa(s, i, 0);
  bool is_headed = false;
  for (int32_t i = 0; i < node->devices.count; i++) {
    const Device *device = &node->devices.at[i];
    bool is_free = device->parent < 0 && device->numa < 0 && device->package < 0;
    if (!is_free || !s->is_shown[i] || device->kind == DEVICE_NVSWITCH) continue;
    if (!is_headed) line(s, 0, "near no package");
    is_headed = true;
    print_tree(s, i, 1);
  }
}

/* "1 package", "2 packages". */
static const char *counted(const Screen *s, int32_t count, const char *what) {
  return arena_printf(s->arena, "%d %s%s", count, what, plural(count));
}

static void print_head(const Screen *s) {
  const HostNode *node = s->node;
  const char *text = node->name ? arena_printf(s->arena, "%.48s  ", node->name) : "";
  if (node->packages.count > 0)
    text = arena_printf(s->arena, "%s%s  ", text, counted(s, node->packages.count, "package"));
  text = arena_printf(s->arena, "%s%s  ", text, counted(s, node->numas.count, "NUMA node"));
  if (node->cores.count > 0)
    text = arena_printf(s->arena, "%s%s  ", text, counted(s, node->cores.count, "core"));
  text = arena_printf(s->arena, "%s%s  %s", text, counted(s, node->gpus.count, "GPU"),
                      counted(s, node->nics.count, "NIC"));
  fprintf(s->out, "node     ");
  print_wrapped(s->out, text, 9, 9, COLUMNS_MOST);
  fprintf(s->out, "from     %s\n", node->source);
  if (node->cpu) fprintf(s->out, "cpu      %.70s\n", node->cpu);
  fputc('\n', s->out);
}

/* ---- links and rails */

/* "NV18 x 28 pairs, through 4 NVSwitches, 360 GB/s a pair": one line for pairs that are alike. */
static void print_links(const Screen *s) {
  const HostNode *node = s->node;
  int32_t n = node->gpus.count;
  bool *is_done = ARENA_ARRAY(s->arena, bool, n *n + 1);
  bool is_first = true;
  for (int32_t a = 0; a < n; a++)
    for (int32_t b = a + 1; b < n; b++) {
      const FastPair *pair = &node->pairs[a * n + b];
      if (pair->link_class == LINK_SELF || is_done[a * n + b]) continue;
      int32_t alike = 0;
      for (int32_t i = 0; i < n; i++)
        for (int32_t j = i + 1; j < n; j++) {
          const FastPair *other = &node->pairs[i * n + j];
          bool is_alike = other->link_class == pair->link_class && other->count == pair->count &&
                          other->gb_s == pair->gb_s;
          if (!is_alike) continue;
          is_done[i * n + j] = true;
          alike++;
        }
      char text[8];
      const char *through =
          pair->link_class == LINK_NVS
              ? arena_printf(s->arena, ", through %d NVSwitch%s", node->nvswitches.count,
                             plural_es(node->nvswitches.count))
              : ", direct";
      fprintf(s->out, "%s%-4s %d of %d pair%s%s, %.0f GB/s a direction\n",
              is_first ? "\nlinks    " : "         ",
              topology_link_text(node, node->gpus.at[a], node->gpus.at[b], text), alike,
              n * (n - 1) / 2, plural(n * (n - 1) / 2), through, pair->gb_s);
      is_first = false;
    }
}

bool gpu_is_switched(const HostNode *node, int32_t gpu) {
  for (int32_t other = 0; other < node->gpus.count; other++)
    if (node->pairs[gpu * node->gpus.count + other].link_class == LINK_NVS) return true;
  return false;
}

static void print_rule(FILE *out, const char *head, int32_t width) {
  int32_t column = fprintf(out, "         +-%s%s%s", *head ? " " : "", head, *head ? " " : "");
  for (; column < 9 + width - 1; column++)
    fputc('-', out);
  fputs("+\n", out);
}

/* The switches as a box of their own, on the GPUs that hang on them. */
static void print_switches(const Screen *s) {
  enum { CELL = 6, A_ROW = 8, WIDTH = CELL * A_ROW + 4 };
  const HostNode *node = s->node;
  int32_t shown = 0, count = node->nvswitches.count;
  for (int32_t g = 0; g < node->gpus.count; g++) {
    if (!gpu_is_switched(node, g)) continue;
    if (shown == 0)
      print_rule(s->out,
                 count == 1 ? "NVSwitch0" : arena_printf(s->arena, "NVSwitch0 to %d", count - 1),
                 WIDTH);
    if (shown % A_ROW == 0) fputs("         | ", s->out);
    char text[16];
    snprintf(text, sizeof text, "GPU%d", g);
    fprintf(s->out, "%-*s", CELL, text);
    if (++shown % A_ROW == 0) fputs(" |\n", s->out);
  }
  if (shown == 0) return;
  if (shown % A_ROW != 0) fprintf(s->out, "%*s |\n", CELL * (A_ROW - shown % A_ROW), "");
  print_rule(s->out, "", WIDTH);
}

static void print_domains(const Screen *s) {
  const HostNode *node = s->node;
  if (node->domain_count == node->gpus.count) return; /* no fast links at all */
  for (int32_t d = 0; d < node->domain_count; d++) {
    const char *text = "";
    for (int32_t g = 0; g < node->gpus.count; g++)
      if (node->domains[g] == d)
        text = arena_printf(s->arena, "%s%sGPU%d", text, *text ? " " : "", g);
    fprintf(s->out, "%s", d == 0 ? "domains  " : "         ");
    print_wrapped(s->out, text, 9, 9, COLUMNS_MOST);
  }
}

static void print_rails(const Screen *s) {
  const HostNode *node = s->node;
  bool is_first = true;
  for (int32_t g = 0; g < node->gpus.count; g++) {
    int32_t nic = topology_near_nic(node, g);
    if (nic < 0) return;
    const Device *device = &node->devices.at[nic];
    char text[8];
    const char *label = device_label(s->arena, device);
    double gb_s = topology_bandwidth(node, node->gpus.at[g], nic);
    fprintf(s->out, "%sGPU%-3d %s  %-5s", is_first ? "\nrails    " : "         ", g,
            topology_link_text(node, node->gpus.at[g], nic, text), label);
    if (device->name) fprintf(s->out, "  %.24s", device->name);
    if (gb_s > 0) fprintf(s->out, "  %.1f GB/s", gb_s);
    fputc('\n', s->out);
    is_first = false;
  }
}

/* ---- the matrix */

typedef struct PictureColumns {
  int32_t devices[GPUS_MOST + NICS_MOST];
  int32_t count;
} PictureColumns;

/* GPUs, then the NICs of fabrics: the rows and columns. */
static PictureColumns listed(const HostNode *node) {
  PictureColumns list = {.count = 0};
  for (int32_t i = 0; i < node->gpus.count; i++)
    list.devices[list.count++] = node->gpus.at[i];
  for (int32_t i = 0; i < node->nics.count; i++)
    if (node->devices.at[node->nics.at[i]].is_fabric) list.devices[list.count++] = node->nics.at[i];
  return list;
}

static void print_label(const HostNode *node, int32_t device, int32_t width, FILE *out) {
  const Device *at = &node->devices.at[device];
  char text[16];
  snprintf(text, sizeof text, "%s%d", at->kind == DEVICE_GPU ? "GPU" : "NIC", at->number);
  fprintf(out, "%-*s", width, text);
}

static void print_columns(const HostNode *node, const PictureColumns *list, int32_t first,
                          int32_t last, FILE *out) {
  enum { WIDTH = 6, LABEL = 7 };
  fprintf(out, "\n%*s", LABEL, "");
  for (int32_t i = first; i < last; i++)
    print_label(node, list->devices[i], i + 1 < last ? WIDTH : 0, out);
  fputc('\n', out);
  for (int32_t row = 0; row < list->count; row++) {
    print_label(node, list->devices[row], LABEL, out);
    for (int32_t i = first; i < last; i++) {
      char text[8];
      fprintf(out, "%-*s", i + 1 < last ? WIDTH : 0,
              topology_link_text(node, list->devices[row], list->devices[i], text));
    }
    fputc('\n', out);
  }
}

void node_matrix(const HostNode *node, FILE *out) {
  PictureColumns list = listed(node);
  if (list.count < 2) return;
  enum { AT_ONCE = 12 };
  int32_t parts = (list.count + AT_ONCE - 1) / AT_ONCE;
  for (int32_t part = 0; part < parts; part++) /* of equal width */
    print_columns(node, &list, list.count * part / parts, list.count * (part + 1) / parts, out);
}

static void print_warnings(const Screen *s) {
  Warnings warnings = topology_warnings(s->arena, s->node);
  for (int32_t i = 0; i < warnings.list.count; i++) {
    fprintf(s->out, "%s", i == 0 ? "\nlook at  " : "         ");
    print_wrapped(s->out, warnings.list.at[i].text, 9, 11, COLUMNS_MOST);
  }
}

/* Marks the devices that are shown, from the leaves up; a parent comes before its children. */
static void find_shown(Screen *s) {
  int32_t count = s->node->devices.count;
  s->is_shown = ARENA_ARRAY(s->arena, bool, count + 1);
  s->forks = ARENA_ARRAY(s->arena, int32_t, count + 1);
  for (int32_t i = count - 1; i >= 0; i--) {
    const Device *device = &s->node->devices.at[i];
    s->is_shown[i] = s->is_shown[i] || device->kind != DEVICE_BRIDGE;
    if (!s->is_shown[i] || device->parent < 0) continue;
    s->is_shown[device->parent] = true;
    s->forks[device->parent]++;
  }
}

void node_print(Arena *arena, const HostNode *node, FILE *out) {
  Screen screen = {.arena = arena, .node = node, .out = out};
  find_shown(&screen);
  print_head(&screen);
  print_packages(&screen);
  print_links(&screen);
  print_switches(&screen);
  print_domains(&screen);
  print_rails(&screen);
  node_matrix(node, out);
  print_warnings(&screen);
}
