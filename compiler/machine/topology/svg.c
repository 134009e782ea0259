/* svg.c -- a machine as a picture: packages and NUMA nodes as boxes, their GPUs and NICs in rows,
 * NVSwitches as a box beside them, direct links as lines in a ring of the GPUs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/machine/topology/picture.h"

enum {
  MARGIN = 20,
  CELL = 120,
  CELL_HEIGHT = 44,
  GAP = 10,
  NUMA_HEAD = 34,
  PACKAGE_HEAD = 22,
  PER_ROW = 4,
  LETTER = 11,
  LINES = 60,
  SWITCH = 90,
  RING = 220,
  DOT = 17
};

static void label(FILE *out, int32_t x, int32_t y, const char *text) {
  fprintf(out, "<text x=\"%d\" y=\"%d\">", x, y);
  print_xml_text(text, out);
  fputs("</text>\n", out);
}

/* Where a box is; of a GPU, links meet its middle. */
typedef struct Spot {
  int32_t x, y;
} Spot;

typedef struct TopologyDrawing {
  Arena *arena;
  const HostNode *node;
  FILE *out;
  Spot *spots; /* of each device */
} TopologyDrawing;

enum { ANY = -2 }; /* package */

static bool is_drawn(const Device *device, int32_t numa, int32_t package) {
  bool is_kind = device->kind == DEVICE_GPU || device->kind == DEVICE_NIC;
  return is_kind && device->numa == numa && (package == ANY || device->package == package);
}

static bool has_drawn(const HostNode *node, int32_t numa) {
  for (int32_t i = 0; i < node->devices.count; i++)
    if (is_drawn(&node->devices.at[i], numa, ANY)) return true;
  return false;
}

/* True if the NUMA node belongs to several packages, and this is one of them. */
static bool is_spanned(const HostNode *node, int32_t numa, int32_t package) {
  if (numa < 0 || node->numas.at[numa].package >= 0) return false;
  for (int32_t i = 0; i < node->cores.count; i++)
    if (node->cores.at[i].numa == numa && node->cores.at[i].package == package) return true;
  return node->numas.count == 1;
}

static void draw_device(const TopologyDrawing *d, int32_t index, Spot at) {
  const Device *device = &d->node->devices.at[index];
  fprintf(d->out,
          "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"%s\" stroke=\"#555\"/>\n",
          at.x, at.y, CELL, CELL_HEIGHT,
          device->is_down              ? "#e2e2e2"
          : device->kind == DEVICE_GPU ? "#cfe8cf"
                                       : "#cfdcf0");
  label(d->out, at.x + 5, at.y + 16,
        arena_printf(d->arena, "%s %s", device_label(d->arena, device),
                     device_address(d->node, device)));
  const char *below = device->kind == DEVICE_NIC && device->name ? device->name : device->model;
  if (below)
    label(d->out, at.x + 5, at.y + 33,
          arena_printf(d->arena, "%.15s%s", below, device->is_down ? "   down" : ""));
  d->spots[index] = (Spot){at.x + CELL / 2, at.y + CELL_HEIGHT};
}

static void draw_frame(const TopologyDrawing *d, int32_t inset, int32_t y, int32_t height) {
  int32_t width = PER_ROW * (CELL + GAP) + GAP;
  fprintf(d->out,
          "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"none\" stroke=\"#999\"/>\n",
          MARGIN + inset, y, width - 2 * inset, height);
}

/* Draws rows of the devices that are near both the NUMA node and the package. Returns where they
 * end. */
static int32_t draw_devices(const TopologyDrawing *d, int32_t numa, int32_t package, int32_t y) {
  int32_t place = 0;
  for (int32_t i = 0; i < d->node->devices.count; i++) {
    if (!is_drawn(&d->node->devices.at[i], numa, package)) continue;
    draw_device(d, i,
                (Spot){MARGIN + GAP + place % PER_ROW * (CELL + GAP),
                       y + place / PER_ROW * (CELL_HEIGHT + GAP)});
    place++;
  }
  return y + (place + PER_ROW - 1) / PER_ROW * (CELL_HEIGHT + GAP);
}

static int32_t draw_package(const TopologyDrawing *d, int32_t numa, int32_t package, int32_t y) {
  int32_t end = draw_devices(d, numa, package, y + PACKAGE_HEAD);
  label(d->out, MARGIN + GAP, y + 14,
        arena_printf(d->arena, "package %d", d->node->packages.at[package].os_index));
  draw_frame(d, GAP / 2, y, end - y);
  return end + GAP;
}

static const char *numa_head(const TopologyDrawing *d, int32_t numa) {
  if (numa < 0) return "near several NUMA nodes";
  const NumaNode *at = &d->node->numas.at[numa];
  int32_t cpus = cpuset_count(at->cpus);
  const char *head =
      arena_printf(d->arena, "NUMA %d   %s   %s", at->os_index,
                   at->memory_bytes > 0 ? format_bytes(d->arena, at->memory_bytes) : "",
                   cpus > 0 ? arena_printf(d->arena, "%d CPUs", cpus) : "no CPUs");
  if (at->os_index < 0) head = arena_printf(d->arena, "no NUMA   %d CPUs", cpus);
  if (at->package < 0) return head;
  return arena_printf(d->arena, "package %d   %s", d->node->packages.at[at->package].os_index,
                      head);
}

/* Returns the y at which it ends, with the gap after it. */
static int32_t draw_numa(const TopologyDrawing *d, int32_t numa, int32_t y) {
  int32_t end = y + NUMA_HEAD, spanned = 0;
  label(d->out, MARGIN + GAP, y + 20, numa_head(d, numa));
  for (int32_t p = 0; p < d->node->packages.count; p++) {
    if (!is_spanned(d->node, numa, p)) continue;
    end = draw_package(d, numa, p, end);
    spanned++;
  }
  end = draw_devices(d, numa, spanned > 0 ? -1 : ANY, end);
  draw_frame(d, 0, y, end + GAP - y);
  return end + 2 * GAP;
}

/* ---- direct links: a ring, so that no line passes through a box */

static bool is_direct(const FastPair *pair) {
  return pair->link_class != LINK_SELF && pair->link_class != LINK_NVS;
}

static bool has_direct(const HostNode *node) {
  for (int32_t i = 0; i < node->gpus.count * node->gpus.count; i++)
    if (is_direct(&node->pairs[i])) return true;
  return false;
}

static Spot ring_spot(const HostNode *node, int32_t gpu, Spot corner) {
  double turn = 2 * acos(-1) * gpu / node->gpus.count, radius = RING / 2.0 - DOT;
  return (Spot){corner.x + RING / 2 + (int32_t)lround(radius * sin(turn)),
                corner.y + RING / 2 - (int32_t)lround(radius * cos(turn))};
}

/* More links, a thicker line. */
static void draw_link(const TopologyDrawing *d, int32_t a, int32_t b, Spot corner) {
  const HostNode *node = d->node;
  const FastPair *pair = &node->pairs[a * node->gpus.count + b];
  Spot from = ring_spot(node, a, corner), to = ring_spot(node, b, corner);
  char text[8];
  fprintf(d->out,
          "<line x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\" stroke=\"#2a7\" "
          "stroke-width=\"%.1f\"><title>GPU%d GPU%d %s</title></line>\n",
          from.x, from.y, to.x, to.y, 0.2 + 1.2 * sqrt(pair->count > 0 ? pair->count : 1), a, b,
          topology_link_text(node, node->gpus.at[a], node->gpus.at[b], text));
}

/* "NV1, NV2": each once. */
static const char *list_links(const TopologyDrawing *d) {
  const HostNode *node = d->node;
  const char *all = ""; /* each word after a comma and a blank */
  for (int32_t i = 0; i < node->gpus.count * node->gpus.count; i++) {
    char text[8];
    if (!is_direct(&node->pairs[i])) continue;
    const char *word = topology_link_text(node, node->gpus.at[i / node->gpus.count],
                                          node->gpus.at[i % node->gpus.count], text);
    if (!strstr(arena_printf(d->arena, "%s,", all), arena_printf(d->arena, " %s,", word)))
      all = arena_printf(d->arena, "%s, %s", all, word);
  }
  return all + strspn(all, ", ");
}

static void draw_ring(const TopologyDrawing *d, Spot corner) {
  int32_t count = d->node->gpus.count;
  for (int32_t a = 0; a < count; a++)
    for (int32_t b = a + 1; b < count; b++)
      if (is_direct(&d->node->pairs[a * count + b])) draw_link(d, a, b, corner);
  for (int32_t g = 0; g < count; g++) {
    Spot at = ring_spot(d->node, g, corner);
    fprintf(d->out,
            "<circle cx=\"%d\" cy=\"%d\" r=\"%d\" fill=\"#cfe8cf\" stroke=\"#555\"/>\n"
            "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%d</text>\n",
            at.x, at.y, DOT - 5, at.x, at.y + 4, g);
  }
  label(d->out, corner.x, corner.y + RING + 16,
        arena_printf(d->arena, "links between GPUs: %s", list_links(d)));
}

/* ---- NVSwitches */

static bool has_switches(const HostNode *node) {
  for (int32_t g = 0; g < node->gpus.count; g++)
    if (gpu_is_switched(node, g)) return true;
  return false;
}

/* One box for all, with a line from each GPU: in the gap below its row, so that none crosses a
 * box. */
static void draw_switches(const TopologyDrawing *d, int32_t top, int32_t bottom) {
  const HostNode *node = d->node;
  int32_t x = MARGIN + PER_ROW * (CELL + GAP) + GAP + LINES, count = node->nvswitches.count;
  fprintf(d->out,
          "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"#f3e2c4\" "
          "stroke=\"#555\"/>\n",
          x, top, SWITCH, bottom - top);
  label(d->out, x + 5, top + 16,
        count == 1 ? "NVSwitch0" : arena_printf(d->arena, "NVSwitch0-%d", count - 1));
  for (int32_t g = 0; g < node->gpus.count; g++) {
    if (!gpu_is_switched(node, g)) continue;
    Spot at = d->spots[node->gpus.at[g]];
    int32_t column = (at.x - MARGIN - GAP) / (CELL + GAP);
    fprintf(d->out,
            "<path d=\"M%d %dV%dH%d\" fill=\"none\" stroke=\"#2a7\"><title>GPU%d</title></path>\n",
            at.x, at.y, at.y + 2 + 2 * column, x, g);
  }
}

void node_svg(Arena *arena, const HostNode *node, FILE *out) {
  char *body = NULL;
  size_t size_bytes = 0;
  TopologyDrawing d = {arena, node, open_memstream(&body, &size_bytes),
                       ARENA_ARRAY(arena, Spot, node->devices.count + 1)};
  if (!d.out) abort();
  bool is_boxed = has_switches(node), is_ringed = has_direct(node);
  int32_t width = 2 * MARGIN + PER_ROW * (CELL + GAP) + GAP, y = MARGIN + 14;
  if (is_boxed) width += LINES + SWITCH;
  label(d.out, MARGIN, MARGIN, node->name ? node->name : node->source);
  for (int32_t i = 0; i < node->numas.count; i++)
    y = draw_numa(&d, i, y);
  if (has_drawn(node, -1)) y = draw_numa(&d, -1, y);
  if (is_boxed) draw_switches(&d, MARGIN + 14, y - GAP);
  int32_t height = y + MARGIN, least = 3 * MARGIN + RING + 40;
  if (is_ringed) draw_ring(&d, (Spot){width, MARGIN + 14});
  if (is_ringed) width += RING + MARGIN;
  if (is_ringed && height < least) height = least;
  if (fclose(d.out) != 0) abort();
  fprintf(out,
          "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
          "font-family=\"sans-serif\" "
          "font-size=\"%d\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n%s</svg>\n",
          width, height, LETTER, body);
  free(body);
}
