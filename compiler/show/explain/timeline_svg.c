/* timeline_svg.c -- the picture: a row of boxes for each class, under it a thin strip for each lane
 * beside computation, an axis, a legend, and a background. */
#include <math.h>
#include <string.h>

#include "compiler/show/explain/timeline.h"
#include "compiler/show/explain/timeline_boxes.h"
#include "runtime/plan/plan_text.h"

enum {
  MARGIN = 16,
  TITLE = 28,
  ROW = 26,
  STRIP = 7,
  STRIP_GAP = 3, /* above a strip */
  ROW_GAP = 5,   /* between rows; more where they have strips */
  STRIPS_GAP = 11,
  AXIS = 34,
  LEGEND = 24,
  DIGIT = 7, /* width of one, about, at 11 px */
  WIDTH_LEAST = 960,
  WIDTH_MOST = 1600, /* a wider picture draws a period that all stages repeat once */
  FOLDS_MOST = 4,
  PIXELS_PER_BOX = 18
};

static const double STRIP_BOX_LEAST = 0.8; /* a strip shows the shortest communication too */

typedef struct Picture {
  FILE *out;
  Arena *arena;
  const Timeline *timeline;
  double left, width;       /* of the rows */
  double pitch;             /* from row to row */
  double bottom;            /* of the last row */
  double height;            /* of everything */
  Steady folds[FOLDS_MOST]; /* each in the times that the earlier ones leave */
  int32_t fold_count;
  bool has_chunks; /* some row has several chunks, which are drawn paler and paler */
} Picture;

static const char *color_of(BoxKind kind) {
  static const char *const colors[BOX_KIND_COUNT] = {"#3b6fb6", "#3f8f4f", "#e0b33a", "#9467bd",
                                                     "#8a6d5c", "#c8503c", "#9aa0a6"};
  return colors[kind];
}

static const char *ink_on(BoxKind kind, double opacity) {
  return kind == BOX_WEIGHT || opacity < 0.8 ? "#202020" : "#ffffff";
}

static double x_of(const Picture *p, int64_t at) {
  return p->left + p->width * (double)at / (double)p->timeline->span;
}

static double y_of(const Picture *p, int32_t row) {
  return MARGIN + TITLE + row * p->pitch;
}

/* The approximate width of text at 11 px; fonts differ. */
static double text_width(const char *text) {
  double width = 0;
  for (; *text != '\0'; text++)
    width += strchr("fijlrt.,:| ", *text) != NULL ? 4 : strchr("mw", *text) != NULL ? 10 : 6.7;
  return width;
}

/* ---- boxes */

/* Later chunks are paler. `chunks` are those of the row. */
static double opacity_of(const Box *box, int32_t chunks) {
  return box->chunk < 0 || chunks < 2 ? 1 : 1 - 0.4 * box->chunk / (chunks - 1);
}

static void put_tooltip(const Picture *p, const Box *box) {
  fprintf(p->out, "<title>%s", box_kind_name(box->kind));
  if (box->kind == BOX_COMMUNICATION) {
    const Plan *plan = p->timeline->plan;
    fputs(": ", p->out);
    print_xml_text(plan_string(plan, plan->segments[box->segment].name), p->out);
  }
  if (box->microbatch >= 0) fprintf(p->out, ", micro-batch %d", box->microbatch);
  if (box->layer_first >= 0 && box->layer_first == box->layer_last)
    fprintf(p->out, ", layer %d", box->layer_first);
  else if (box->layer_first >= 0)
    fprintf(p->out, ", layers %d to %d", box->layer_first, box->layer_last);
  fprintf(p->out, ", %s</title>",
          timeline_length(p->arena, p->timeline, (double)(box->end - box->start)));
}

static void put_rect(const Picture *p, double x, double y, double width, int height,
                     const char *more) {
  fprintf(p->out, "<rect x=\"%.2f\" y=\"%.0f\" width=\"%.2f\" height=\"%d\" %s", x, y, width,
          height, more);
}

static void put_text(const Picture *p, double x, double y, const char *more, const char *text) {
  fprintf(p->out, "<text x=\"%.2f\" y=\"%.0f\"%s>", x, y, more);
  print_xml_text(text, p->out);
  fputs("</text>", p->out);
}

static void put_box(const Picture *p, const Box *box, double y, double opacity) {
  double x = x_of(p, box->start), width = x_of(p, box->end) - x;
  put_rect(p, x, y, width, ROW,
           arena_printf(p->arena, "fill=\"%s\" fill-opacity=\"%.2f\"%s>", color_of(box->kind),
                        opacity, width >= 3 ? " stroke=\"#ffffff\" stroke-width=\"0.8\"" : ""));
  put_tooltip(p, box);
  fputs("</rect>", p->out);
  const char *number = arena_printf(p->arena, "%d", box->microbatch);
  if (box->microbatch < 0 || box->kind == BOX_COMMUNICATION ||
      width < (double)strlen(number) * DIGIT + 2)
    return;
  put_text(
      p, x + width / 2, y + ROW / 2.0 + 4,
      arena_printf(p->arena, " text-anchor=\"middle\" fill=\"%s\"", ink_on(box->kind, opacity)),
      number);
}

static void put_thin_box(const Picture *p, const Box *box, double y) {
  double x = x_of(p, box->start), width = x_of(p, box->end) - x;
  put_rect(p, x, y, width > STRIP_BOX_LEAST ? width : STRIP_BOX_LEAST, STRIP,
           arena_printf(p->arena, "fill=\"%s\"%s>", color_of(box->kind),
                        width >= 6 ? " stroke=\"#ffffff\" stroke-width=\"0.5\"" : ""));
  put_tooltip(p, box);
  fputs("</rect>", p->out);
}

/* chunks 0: of a lane beside computation. */
static void put_lane(const Picture *p, const TimelineLane *lane, double y, int32_t chunks) {
  double drawn_to = -1;
  for (int32_t i = 0; i < lane->boxes.count; i++) {
    const Box *box = &lane->boxes.at[i];
    if (x_of(p, box->end) < drawn_to + 0.2) continue; /* too narrow to be seen */
    fputs("<g>", p->out);
    if (chunks > 0)
      put_box(p, box, y, opacity_of(box, chunks));
    else
      put_thin_box(p, box, y);
    fputs("</g>\n", p->out);
    drawn_to = x_of(p, box->end);
  }
}

static void put_row(const Picture *p, int32_t number) {
  const TimelineRow *row = &p->timeline->rows[number];
  double y = y_of(p, number);
  put_rect(p, p->left, y, p->width, ROW, "fill=\"#eceef1\"/>\n");
  put_text(p, p->left - 8, y + ROW / 2.0 + 4, " text-anchor=\"end\"", row->name);
  put_lane(p, &row->lanes[p->timeline->main], y, row->chunk_count > 0 ? row->chunk_count : 1);
  y += ROW;
  for (int32_t i = 0; i < p->timeline->beside_count; i++) {
    uint32_t lane = p->timeline->beside[i];
    y += STRIP_GAP;
    put_rect(p, p->left, y, p->width, STRIP, "fill=\"#f4f5f7\"/>\n");
    put_text(p, p->left - 8, y + STRIP, " text-anchor=\"end\" font-size=\"9\" fill=\"#666666\"",
             plan_lane_name(p->timeline->plan, lane));
    put_lane(p, &row->lanes[lane], y, 0);
    y += STRIP;
  }
}

/* ---- around them */

/* A tick every 1, 2 or 5 times a power of ten: at most a dozen. */
static double tick_step(double span) {
  double step = pow(10, floor(log10(span)));
  if (span / step > 6) return step;
  return span / step > 2.4 ? step / 2 : step / 5;
}

/* A time before fold `first` in the times that are drawn; negative: it is left out. */
static double fold_time(const Picture *p, double at, int32_t first) {
  for (int32_t i = first; i < p->fold_count; i++) {
    const Steady *s = &p->folds[i];
    double seam = (double)(s->first + s->period), left_out = (double)(s->period * (s->repeats - 1));
    if (at > seam && at < seam + left_out) return -1;
    if (at > seam) at -= left_out;
  }
  return at;
}

static void put_axis(const Picture *p) {
  const Timeline *t = p->timeline;
  int64_t whole = t->span;
  for (int32_t i = 0; i < p->fold_count; i++)
    whole += p->folds[i].period * (p->folds[i].repeats - 1);
  TimelineScale scale = timeline_scale(t, (double)whole);
  double step = tick_step((double)t->span / scale.size), y = p->bottom;
  int64_t last = (int64_t)floor((double)whole / scale.size / step + 1e-9);
  while (fold_time(p, (double)last * step * scale.size, 0) < 0)
    last--; /* time 0 is before every fold; the last tick that is drawn names the unit */
  for (int64_t i = 0; i <= last; i++) {
    double at = fold_time(p, (double)i * step * scale.size, 0);
    if (at < 0) continue;
    double x = p->left + p->width * at / (double)t->span;
    fprintf(p->out, "<path d=\"M%.2f %.0fv5\" stroke=\"#555555\"/>", x, y);
    put_text(
        p, x, y + 18, " text-anchor=\"middle\"",
        arena_printf(p->arena, i == last ? "%.10g %s" : "%.10g", (double)i * step, scale.name));
    fputc('\n', p->out);
  }
}

/* A frame around a period that is drawn for all of its repetitions. */
static void put_fold(const Picture *p, int32_t number) {
  const Steady *s = &p->folds[number];
  double begin = fold_time(p, (double)s->first, number + 1);
  double end = fold_time(p, (double)(s->first + s->period), number + 1);
  double from = p->left + p->width * begin / (double)p->timeline->span;
  double to = p->left + p->width * end / (double)p->timeline->span;
  double top = MARGIN + TITLE - 4, height = p->bottom - top;
  if (begin < 0 || end < begin) return;
  fprintf(p->out,
          "<rect x=\"%.2f\" y=\"%.0f\" width=\"%.2f\" height=\"%.0f\" fill=\"none\" "
          "stroke=\"#202020\" stroke-width=\"1.5\" stroke-dasharray=\"5 3\"/>\n",
          from, top, to - from, height);
  put_text(p, (from + to) / 2, top - 4, " text-anchor=\"middle\" font-size=\"12\"",
           arena_printf(p->arena, "x %lld", (long long)s->repeats));
  fputc('\n', p->out);
}

/* Returns where the next entry begins. */
static double put_entry(const Picture *p, double x, int height, const char *fill,
                        const char *words) {
  double y = p->height - MARGIN - 12;
  put_rect(p, x, y + (12 - height) / 2.0, 12, height, fill);
  put_text(p, x + 17, y + 10, "", words);
  fputc('\n', p->out);
  return x + 17 + text_width(words) + 20;
}

static void put_legend(const Picture *p) {
  double x = p->left;
  for (int kind = 0; kind < BOX_KIND_COUNT; kind++)
    if (timeline_has(p->timeline, (BoxKind)kind))
      x = put_entry(p, x, 12, arena_printf(p->arena, "fill=\"%s\"/>", color_of((BoxKind)kind)),
                    box_kind_name((BoxKind)kind));
  x = put_entry(p, x, 12, "fill=\"#eceef1\" stroke=\"#b0b0b0\" stroke-width=\"0.5\"/>", "idle");
  if (p->has_chunks)
    x = put_entry(
        p, x, 12,
        arena_printf(p->arena, "fill=\"%s\" fill-opacity=\"0.60\"/>", color_of(BOX_FORWARD)),
        "paler: a later chunk of layers");
  if (p->timeline->beside_count > 0)
    put_entry(p, x, STRIP, arena_printf(p->arena, "fill=\"%s\"/>", color_of(BOX_COMMUNICATION)),
              "thin: a lane beside computation");
}

static int32_t busiest_row(const Timeline *t) {
  int32_t boxes = 0;
  for (int32_t i = 0; i < t->row_count; i++)
    if (t->rows[i].lanes[t->main].boxes.count > boxes)
      boxes = t->rows[i].lanes[t->main].boxes.count;
  return boxes;
}

/* Wide enough for the busiest row's boxes to show their numbers, within limits. Stages of unequal
 * times that no queue holds back (gpipe, zb-v) have no period in common: their boxes get narrower
 * instead, and those too narrow for a number have none. */
static Picture lay_out(Arena *arena, Timeline *t, FILE *out) {
  double longest = 5 * DIGIT;
  Picture p = {.out = out, .arena = arena, .timeline = t};
  while (busiest_row(t) * PIXELS_PER_BOX > WIDTH_MOST && p.fold_count < FOLDS_MOST) {
    Steady *fold = &p.folds[p.fold_count];
    *fold = timeline_fold(arena, t);
    if (fold->repeats == 0) break;
    p.fold_count++;
  }
  for (int32_t i = 0; i < t->row_count; i++) {
    longest = fmax(longest, text_width(t->rows[i].name));
    p.has_chunks |= t->rows[i].chunk_count > 1;
  }
  double gap = t->beside_count > 0 ? STRIPS_GAP : ROW_GAP;
  p.left = MARGIN + longest + 8;
  p.width = fmin(WIDTH_MOST, fmax(WIDTH_LEAST, (double)busiest_row(t) * PIXELS_PER_BOX));
  p.pitch = ROW + t->beside_count * (STRIP_GAP + STRIP) + gap;
  p.bottom = MARGIN + TITLE + p.pitch * t->row_count - gap + ROW_GAP;
  p.height = p.bottom + AXIS + LEGEND + MARGIN;
  return p;
}

bool timeline_svg(const Plan *plan, FILE *out) {
  Arena *arena = arena_new();
  Timeline *timeline = timeline_make(arena, plan);
  if (timeline != NULL) {
    const char *title = timeline_title(arena, timeline); /* of the whole step */
    Picture p = lay_out(arena, timeline, out);
    double width = p.left + p.width + 2 * MARGIN;
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
            "viewBox=\"0 0 %.0f %.0f\" font-family=\"Helvetica, Arial, sans-serif\" "
            "font-size=\"11\" fill=\"#202020\">\n<rect width=\"100%%\" height=\"100%%\" "
            "fill=\"#ffffff\"/>\n<text x=\"%.2f\" y=\"%d\" font-size=\"14\">",
            width, p.height, width, p.height, p.left, MARGIN + 12);
    print_xml_text(title, out);
    fputs("</text>\n", out);
    for (int32_t row = 0; row < timeline->row_count; row++)
      put_row(&p, row);
    for (int32_t i = 0; i < p.fold_count; i++)
      put_fold(&p, i);
    put_axis(&p);
    put_legend(&p);
    fputs("</svg>\n", out);
  }
  arena_free(arena);
  return timeline != NULL;
}
