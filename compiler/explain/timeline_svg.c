/* timeline_svg.c -- the picture: rows of boxes, an axis, a legend, on a background of its own. */
#include <math.h>
#include <string.h>

#include "compiler/explain/timeline.h"
#include "compiler/explain/timeline_boxes.h"

enum {
  MARGIN = 16,
  TITLE = 28,
  ROW = 26,
  ROW_GAP = 5, /* between rows */
  AXIS = 34,
  LEGEND = 24,
  CHARACTER = 7, /* width of one, about, at 11 px */
  WIDTH_LEAST = 960,
  WIDTH_MOST = 3200,
  PIXELS_PER_BOX = 18
};

typedef struct Picture {
  FILE *out;
  Arena *arena;
  const Timeline *timeline;
  double left, width; /* of the rows */
  double height;      /* of everything */
} Picture;

static const char *color_of(BoxKind kind) {
  static const char *const colors[BOX_KIND_COUNT] = {"#3b6fb6", "#3f8f4f", "#e0b33a", "#9467bd",
                                                     "#8a6d5c", "#c8503c", "#9aa0a6"};
  return colors[kind];
}

static const char *ink_on(BoxKind kind) {
  return kind == BOX_WEIGHT ? "#202020" : "#ffffff";
}

static void put_escaped(FILE *out, const char *text) {
  for (; *text != '\0'; text++) {
    if (*text == '&')
      fputs("&amp;", out);
    else if (*text == '<')
      fputs("&lt;", out);
    else if ((unsigned char)*text < ' ') /* not allowed in XML */
      fputc('?', out);
    else
      fputc(*text, out);
  }
}

static double x_of(const Picture *p, int64_t at) {
  return p->left + p->width * (double)at / (double)p->timeline->span;
}

static double y_of(int32_t row) {
  return MARGIN + TITLE + row * (ROW + ROW_GAP);
}

/* ---- boxes */

/* The chunks of a row: runs of layers that it has, between layers that others have. */
typedef struct Chunks {
  int32_t *of_layer;
  int32_t count;
} Chunks;

static Chunks chunks_of(Arena *arena, const TimelineRow *row) {
  int32_t layers = 0;
  for (int32_t i = 0; i < row->boxes.count; i++)
    if (row->boxes.at[i].layer_last >= layers) layers = row->boxes.at[i].layer_last + 1;
  Chunks chunks = {ARENA_ARRAY(arena, int32_t, layers + 1), 0};
  for (int32_t i = 0; i < row->boxes.count; i++)
    for (int32_t l = row->boxes.at[i].layer_first; l >= 0 && l <= row->boxes.at[i].layer_last; l++)
      chunks.of_layer[l] = 1;
  for (int32_t l = 0, had = 0; l < layers; l++) {
    bool has = chunks.of_layer[l] != 0;
    chunks.count += has && !had;
    chunks.of_layer[l] = chunks.count - 1;
    had = has;
  }
  return chunks;
}

/* Later chunks are paler. */
static double opacity_of(const Box *box, Chunks chunks) {
  if (box->kind > BOX_RECOMPUTE || box->layer_first < 0 || chunks.count < 2) return 1;
  return 1 - 0.4 * chunks.of_layer[box->layer_first] / (chunks.count - 1);
}

static void put_tooltip(const Picture *p, const Box *box) {
  fprintf(p->out, "<title>%s", box_kind_name(box->kind));
  if (box->microbatch >= 0) fprintf(p->out, ", micro-batch %d", box->microbatch);
  if (box->layer_first >= 0 && box->layer_first == box->layer_last)
    fprintf(p->out, ", layer %d", box->layer_first);
  else if (box->layer_first >= 0)
    fprintf(p->out, ", layers %d to %d", box->layer_first, box->layer_last);
  fprintf(p->out, ", %s</title>",
          timeline_length(p->arena, p->timeline, (double)(box->end - box->start)));
}

static void put_box(const Picture *p, const Box *box, double y, double opacity) {
  double x = x_of(p, box->start), width = x_of(p, box->end) - x;
  fprintf(p->out,
          "<g><rect x=\"%.2f\" y=\"%.0f\" width=\"%.2f\" height=\"%d\" fill=\"%s\" "
          "fill-opacity=\"%.2f\"%s>",
          x, y, width, ROW, color_of(box->kind), opacity,
          width >= 3 ? " stroke=\"#ffffff\" stroke-width=\"0.8\"" : "");
  put_tooltip(p, box);
  fputs("</rect>", p->out);
  int digits = box->microbatch < 10     ? 1
               : box->microbatch < 100  ? 2
               : box->microbatch < 1000 ? 3
                                        : 4;
  if (box->microbatch >= 0 && box->kind != BOX_COMMUNICATION && width >= digits * CHARACTER + 2)
    fprintf(p->out, "<text x=\"%.2f\" y=\"%.0f\" text-anchor=\"middle\" fill=\"%s\">%d</text>",
            x + width / 2, y + ROW / 2.0 + 4, ink_on(box->kind), box->microbatch);
  fputs("</g>\n", p->out);
}

static void put_row(const Picture *p, int32_t number) {
  const TimelineRow *row = &p->timeline->rows[number];
  double y = y_of(number), drawn_to = -1;
  Chunks chunks = chunks_of(p->arena, row);
  fprintf(p->out, "<rect x=\"%.2f\" y=\"%.0f\" width=\"%.2f\" height=\"%d\" fill=\"#eceef1\"/>\n",
          p->left, y, p->width, ROW);
  fprintf(p->out, "<text x=\"%.2f\" y=\"%.0f\" text-anchor=\"end\">", p->left - 8,
          y + ROW / 2.0 + 4);
  put_escaped(p->out, row->name);
  fputs("</text>\n", p->out);
  for (int32_t i = 0; i < row->boxes.count; i++) {
    const Box *box = &row->boxes.at[i];
    if (x_of(p, box->end) < drawn_to + 0.2) continue; /* nobody would see it */
    put_box(p, box, y, opacity_of(box, chunks));
    drawn_to = x_of(p, box->end);
  }
}

/* ---- around them */

/* A tick every 1, 2 or 5 times a power of ten: at most a dozen. */
static double tick_step(double span) {
  double step = pow(10, floor(log10(span)));
  if (span / step > 6) return step;
  return span / step > 2.4 ? step / 2 : step / 5;
}

static void put_axis(const Picture *p) {
  const Timeline *t = p->timeline;
  double scale = t->unit == UNIT_NS ? 1e6 : t->unit == UNIT_FLOPS ? 1e9 : 1;
  double span = (double)t->span / scale, step = tick_step(span);
  double top = y_of(t->row_count);
  int64_t last = (int64_t)floor(span / step + 1e-9);
  for (int64_t i = 0; i <= last; i++) {
    double x = p->left + p->width * ((double)i * step / span);
    fprintf(p->out,
            "<path d=\"M%.2f %.0fv5\" stroke=\"#555555\"/>"
            "<text x=\"%.2f\" y=\"%.0f\" text-anchor=\"middle\">%.10g</text>\n",
            x, top, x, top + 18, (double)i * step);
  }
  fprintf(p->out, "<text x=\"%.2f\" y=\"%.0f\" text-anchor=\"end\">%s</text>\n", p->left - 8,
          top + 18,
          t->unit == UNIT_NS      ? "ms"
          : t->unit == UNIT_FLOPS ? "GFLOP"
                                  : "kernels");
}

static void put_legend(const Picture *p) {
  double x = p->left, y = p->height - MARGIN - 12;
  for (int kind = 0; kind < BOX_KIND_COUNT; kind++) {
    if (!timeline_has(p->timeline, (BoxKind)kind)) continue;
    const char *name = box_kind_name((BoxKind)kind);
    fprintf(p->out,
            "<rect x=\"%.0f\" y=\"%.0f\" width=\"12\" height=\"12\" fill=\"%s\"/>"
            "<text x=\"%.0f\" y=\"%.0f\">%s</text>\n",
            x, y, color_of((BoxKind)kind), x + 17, y + 10, name);
    x += 17 + CHARACTER * (double)strlen(name) + 18;
  }
  fprintf(p->out,
          "<rect x=\"%.0f\" y=\"%.0f\" width=\"12\" height=\"12\" fill=\"#eceef1\" "
          "stroke=\"#b0b0b0\" stroke-width=\"0.5\"/><text x=\"%.0f\" y=\"%.0f\">idle</text>\n",
          x, y, x + 17, y + 10);
}

/* As wide as the busiest row's boxes need to show their numbers, within reason. */
static Picture lay_out(Arena *arena, const Timeline *t, FILE *out) {
  size_t longest = 5;
  int32_t boxes = 0;
  for (int32_t i = 0; i < t->row_count; i++) {
    if (strlen(t->rows[i].name) > longest) longest = strlen(t->rows[i].name);
    if (t->rows[i].boxes.count > boxes) boxes = t->rows[i].boxes.count;
  }
  double width = boxes < WIDTH_MOST / PIXELS_PER_BOX ? boxes * PIXELS_PER_BOX : WIDTH_MOST;
  if (width < WIDTH_LEAST) width = WIDTH_LEAST;
  return (Picture){.out = out,
                   .arena = arena,
                   .timeline = t,
                   .left = MARGIN + (double)longest * CHARACTER + 8,
                   .width = width,
                   .height = y_of(t->row_count) + AXIS + LEGEND + MARGIN};
}

bool timeline_svg(const Plan *plan, FILE *out) {
  Arena *arena = arena_new();
  const Timeline *timeline = timeline_make(arena, plan);
  if (timeline != NULL) {
    Picture p = lay_out(arena, timeline, out);
    double width = p.left + p.width + 2 * MARGIN;
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
            "viewBox=\"0 0 %.0f %.0f\" font-family=\"Helvetica, Arial, sans-serif\" "
            "font-size=\"11\" fill=\"#202020\">\n<rect width=\"100%%\" height=\"100%%\" "
            "fill=\"#ffffff\"/>\n<text x=\"%.2f\" y=\"%d\" font-size=\"14\">",
            width, p.height, width, p.height, p.left, MARGIN + 12);
    put_escaped(out, timeline_title(arena, timeline));
    fputs("</text>\n", out);
    for (int32_t row = 0; row < timeline->row_count; row++)
      put_row(&p, row);
    put_axis(&p);
    put_legend(&p);
    fputs("</svg>\n", out);
  }
  arena_free(arena);
  return timeline != NULL;
}
