/* svg.c -- a machine as a picture: packages and NUMA nodes as boxes, their GPUs and NICs in rows,
 * fast links as arcs below, NVSwitches as a box beside them. */
#include "compiler/topology/picture.h"

enum {
  MARGIN = 20,
  CELL = 112,
  CELL_HEIGHT = 44,
  GAP = 10,
  NUMA_HEAD = 34,
  PER_ROW = 4,
  LETTER = 11,
  ARCS = 60,
  SWITCH = 90
};

static void print_text(FILE *out, const char *text) {
  for (; *text; text++) {
    if (*text == '<')
      fputs("&lt;", out);
    else if (*text == '&')
      fputs("&amp;", out);
    else if (*text == '"')
      fputs("&quot;", out);
    else
      fputc((unsigned char)*text < 0x20 ? '?' : *text, out);
  }
}

static void label(FILE *out, int32_t x, int32_t y, const char *text) {
  fprintf(out, "<text x=\"%d\" y=\"%d\">", x, y);
  print_text(out, text);
  fputs("</text>\n", out);
}

/* Where a box is; of a GPU, links meet its middle. */
typedef struct Spot {
  int32_t x, y;
} Spot;

typedef struct Drawing {
  Arena *arena;
  const HostNode *node;
  FILE *out;
  Spot *spots; /* of each device */
} Drawing;

static bool is_drawn(const Device *device, int32_t numa) {
  bool is_kind = device->kind == DEVICE_GPU || device->kind == DEVICE_NIC;
  return is_kind && device->numa == numa;
}

static int32_t rows_of(const HostNode *node, int32_t numa) {
  int32_t count = 0;
  for (int32_t i = 0; i < node->devices.count; i++)
    count += is_drawn(&node->devices.at[i], numa);
  return (count + PER_ROW - 1) / PER_ROW;
}

static void draw_device(const Drawing *d, int32_t index, Spot at) {
  const Device *device = &d->node->devices.at[index];
  fprintf(d->out,
          "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"%s\" stroke=\"#555\"/>\n",
          at.x, at.y, CELL, CELL_HEIGHT, device->kind == DEVICE_GPU ? "#cfe8cf" : "#cfdcf0");
  label(d->out, at.x + 5, at.y + 16,
        arena_printf(d->arena, "%s %s", device_label(d->arena, device),
                     device_address(d->node, device)));
  const char *below = device->kind == DEVICE_NIC && device->name ? device->name : device->model;
  if (below) label(d->out, at.x + 5, at.y + 33, arena_printf(d->arena, "%.15s", below));
  d->spots[index] = (Spot){at.x + CELL / 2, at.y + CELL_HEIGHT};
}

/* Returns the height that it took. */
static int32_t draw_numa(const Drawing *d, int32_t numa, int32_t y) {
  int32_t rows = rows_of(d->node, numa), place = 0;
  int32_t height = NUMA_HEAD + rows * (CELL_HEIGHT + GAP) + GAP;
  int32_t width = PER_ROW * (CELL + GAP) + GAP;
  fprintf(d->out,
          "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"none\" stroke=\"#999\"/>\n",
          MARGIN, y, width, height);
  const char *head = "near several NUMA nodes";
  if (numa >= 0) {
    const NumaNode *at = &d->node->numas.at[numa];
    head = arena_printf(d->arena, "NUMA %d   %s   %d CPUs", at->os_index,
                        at->memory_bytes > 0 ? format_bytes(d->arena, at->memory_bytes) : "",
                        cpuset_count(at->cpus));
    if (at->package >= 0)
      head = arena_printf(d->arena, "package %d   %s", d->node->packages.at[at->package].os_index,
                          head);
  }
  label(d->out, MARGIN + GAP, y + 20, head);
  for (int32_t i = 0; i < d->node->devices.count; i++) {
    if (!is_drawn(&d->node->devices.at[i], numa)) continue;
    draw_device(d, i,
                (Spot){MARGIN + GAP + place % PER_ROW * (CELL + GAP),
                       y + NUMA_HEAD + place / PER_ROW * (CELL_HEIGHT + GAP)});
    place++;
  }
  return height + GAP;
}

/* Arcs bow to the right, the further apart the more. */
static void draw_links(const Drawing *d) {
  const HostNode *node = d->node;
  int32_t n = node->gpus.count, right = MARGIN + PER_ROW * (CELL + GAP) + GAP;
  for (int32_t a = 0; a < n; a++)
    for (int32_t b = a + 1; b < n; b++) {
      const FastPair *pair = &node->pairs[a * n + b];
      if (pair->link_class == LINK_SELF || pair->link_class == LINK_NVS) continue;
      Spot x = d->spots[node->gpus.at[a]], y = d->spots[node->gpus.at[b]];
      char text[8];
      fprintf(
          d->out,
          "<path d=\"M%d %d Q%d %d %d %d\" fill=\"none\" stroke=\"#2a7\" stroke-opacity=\"0.5\">"
          "<title>GPU%d GPU%d %s</title></path>\n",
          x.x, x.y, right + 4 * (b - a), (x.y + y.y) / 2, y.x, y.y, a, b,
          topology_link_text(node, node->gpus.at[a], node->gpus.at[b], text));
    }
}

static bool has_switches(const HostNode *node) {
  for (int32_t g = 0; g < node->gpus.count; g++)
    if (gpu_is_switched(node, g)) return true;
  return false;
}

/* One box for all, with a line from each GPU: in the gap below its row, so that none crosses a
 * box. */
static void draw_switches(const Drawing *d, int32_t top, int32_t bottom) {
  const HostNode *node = d->node;
  int32_t x = MARGIN + PER_ROW * (CELL + GAP) + GAP + ARCS, count = node->nvswitches.count;
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
  Drawing d = {arena, node, out, ARENA_ARRAY(arena, Spot, node->devices.count + 1)};
  int32_t height = MARGIN + 20;
  for (int32_t i = -1; i < node->numas.count; i++)
    if (i >= 0 || rows_of(node, i) > 0)
      height += NUMA_HEAD + rows_of(node, i) * (CELL_HEIGHT + GAP) + 2 * GAP;
  bool is_boxed = has_switches(node);
  int32_t width = 2 * MARGIN + PER_ROW * (CELL + GAP) + GAP + ARCS + (is_boxed ? SWITCH : 0);
  fprintf(out,
          "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
          "font-family=\"sans-serif\" "
          "font-size=\"%d\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
          width, height + MARGIN, LETTER);
  label(out, MARGIN, MARGIN, node->name ? node->name : node->source);
  int32_t y = MARGIN + 14;
  for (int32_t i = 0; i < node->numas.count; i++)
    y += draw_numa(&d, i, y);
  if (rows_of(node, -1) > 0) y += draw_numa(&d, -1, y);
  if (is_boxed) draw_switches(&d, MARGIN + 14, y - GAP);
  draw_links(&d);
  fputs("</svg>\n", out);
}
