/* waterfall.c -- the expected step of the stage that takes longest, part after part: explain
 * --breakdown, as text and as a picture. */
#include <math.h>

#include "compiler/draft/cost/breakdown.h"
#include "compiler/draft/cost/demand.h"
#include "compiler/plan/simulate/price.h"
#include "compiler/show/explain/words.h"

enum { ROWS_MOST = COMPUTE_KINDS + PLAN_AXES_MAX + 4, BAR = 30, NAME = 26 };

typedef struct WaterfallRow {
  const char *name;
  double seconds, start_s;
  uint32_t hue;
} WaterfallRow;

typedef struct Waterfall {
  double step_s;
  WaterfallRow row[ROWS_MOST];
  int32_t count;
  double moving_s[PLAN_AXES_MAX]; /* of all communications over the axis alone, hidden ones too */
  double exposed_s[PLAN_AXES_MAX];
} Waterfall;

static void add_row(Waterfall *w, const char *name, double seconds, uint32_t hue) {
  const WaterfallRow *last = w->count > 0 ? &w->row[w->count - 1] : NULL;
  if (seconds < 5e-4 * w->step_s || w->count == ROWS_MOST) return; /* 0.0 % */
  w->row[w->count++] = (WaterfallRow){name, seconds, last ? last->start_s + last->seconds : 0, hue};
}

static void add_moving(const Compiled *compiled, uint32_t class, const PlanProgram *step,
                       Waterfall *w) {
  const Plan *plan = &compiled->plan;
  Arena *arena = compiled->draft->compile->arena;
  int64_t *times = ARENA_ARRAY(arena, int64_t, plan->records_count + 1);
  count_records(arena, plan, step, times);
  for (uint32_t i = 0; i < plan->records_count; i++) {
    const PlanRecord *record = &plan->records[i];
    if (times[i] == 0 || !plan_is_communication(record)) continue;
    for (uint32_t axis = 0; axis < plan->axes_count; axis++)
      if (plan->comms[record->comm].axes_mask == 1u << axis)
        w->moving_s[axis] += (double)times[i] * (double)price_ns(plan, class, record) * 1e-9;
  }
}

static void add_parts(const Compiled *compiled, const PlanProgram *step, Waterfall *w) {
  enum { EXPOSED_HUE = 0, BUBBLE_HUE = 45 };
  const Plan *plan = &compiled->plan;
  Arena *arena = compiled->draft->compile->arena;
  for (uint32_t i = 0; i < step->parts_count; i++) {
    const PlanPart *part = &plan->parts[step->parts_first + i];
    const double seconds = (double)part->predicted_ns * 1e-9;
    if (part->kind == PART_BUBBLE) add_row(w, "bubble", seconds, BUBBLE_HUE);
    if (part->kind != PART_EXPOSED) continue;
    const bool is_one = part->axis != PLAN_NONE;
    if (is_one) w->exposed_s[part->axis] += seconds;
    add_row(w,
            arena_printf(arena, "exposed %s",
                         is_one ? plan_string(plan, plan->axes[part->axis].name) : "several"),
            seconds, EXPOSED_HUE);
  }
}

/* False: no time is predicted. */
static bool waterfall_of(const Compiled *compiled, Waterfall *w) {
  static const char *const names[COMPUTE_KINDS] = {
      [COMPUTE_PRODUCTS] = "matrix products",
      [COMPUTE_ATTENTION] = "attention kernels",
      [COMPUTE_LOSS] = "loss",
      [COMPUTE_OPTIMIZER] = "optimizer",
      [COMPUTE_OTHER] = "bound by memory",
  };
  enum { COMPUTE_HUE = 210, REST_HUE = 285 };
  const Plan *plan = &compiled->plan;
  const uint32_t class = longest_class(plan);
  *w = (Waterfall){0};
  if (class == PLAN_NONE) return false;
  const PlanProgram *step = plan_program(plan, &plan->classes[class], PROGRAM_TRAIN_STEP);
  const CostBreakdown kinds = breakdown_of(compiled->draft->compile->arena, plan);
  w->step_s = (double)step->predicted_ns * 1e-9;
  for (int i = 0; i < COMPUTE_KINDS; i++)
    add_row(w, names[i], kinds.seconds[i], COMPUTE_HUE);
  add_parts(compiled, step, w);
  if (w->count > 0) {
    const WaterfallRow *last = &w->row[w->count - 1];
    add_row(w, "other lanes, host, slack", w->step_s - last->start_s - last->seconds, REST_HUE);
  }
  add_moving(compiled, class, step, w);
  return true;
}

static void print_bar(const Waterfall *w, const WaterfallRow *row, FILE *out) {
  const int from = (int)lround(BAR * row->start_s / w->step_s);
  const int to = (int)lround(BAR * (row->start_s + row->seconds) / w->step_s);
  fprintf(out, "%*s", from, "");
  for (int i = from; i < (to > from ? to : from + 1); i++)
    fputc('#', out);
}

void explain_breakdown(const Compiled *compiled, FILE *out) {
  Waterfall w;
  const Plan *plan = &compiled->plan;
  if (!waterfall_of(compiled, &w)) {
    fprintf(out, "no step time is predicted for %s\n", compiled->cluster.device);
    return;
  }
  fprintf(out, "%-*s %9s  %5s\n", NAME, "a step of the slowest stage", "ms", "%");
  for (int32_t i = 0; i < w.count; i++) {
    const WaterfallRow *row = &w.row[i];
    fprintf(out, "%-*s %9.3f  %5.1f  ", NAME + 1, row->name, 1e3 * row->seconds,
            100 * row->seconds / w.step_s);
    print_bar(&w, row, out);
    fputc('\n', out);
  }
  fprintf(out, "%-*s %9.3f  %5.1f\n", NAME + 1, "expected", 1e3 * w.step_s, 100.0);
  for (uint32_t axis = 0; axis < plan->axes_count; axis++) {
    const double hidden_s = w.moving_s[axis] - w.exposed_s[axis];
    if (hidden_s <= 0) continue;
    fprintf(out, "hidden %-*s %9.3f  beside kernels\n", NAME - 6,
            plan_string(plan, plan->axes[axis].name), 1e3 * hidden_s);
  }
}

bool explain_breakdown_svg(const Compiled *compiled, FILE *out) {
  enum { LEFT = 190, WIDE = 560, HIGH = 24, TOP = 40 };
  Waterfall w;
  if (!waterfall_of(compiled, &w)) return false;
  fprintf(out,
          "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
          "font-family=\"sans-serif\" font-size=\"12\">\n"
          "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n"
          "<text x=\"10\" y=\"20\">",
          LEFT + WIDE + 90, TOP + w.count * HIGH + 20);
  print_xml_text(compiled->cluster.name, out);
  fprintf(out, ", %lld rank%s: %s a step, expected</text>\n", (long long)rank_count(compiled),
          plural(rank_count(compiled)), duration_text(compiled, w.step_s));
  for (int32_t i = 0; i < w.count; i++) {
    const WaterfallRow *row = &w.row[i];
    const double x = LEFT + WIDE * row->start_s / w.step_s;
    const double width = fmax(1, WIDE * row->seconds / w.step_s);
    const int y = TOP + i * HIGH;
    fprintf(out,
            "<text x=\"10\" y=\"%d\">%s</text>"
            "<rect x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"hsl(%u,60%%,60%%)\"/>"
            "<text x=\"%.1f\" y=\"%d\">%.1f %%</text>\n",
            y + 14, row->name, x, y, width, HIGH - 6, row->hue, x + width + 4, y + 14,
            100 * row->seconds / w.step_s);
  }
  fputs("</svg>\n", out);
  return !ferror(out);
}
