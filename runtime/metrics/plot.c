/* plot.c -- the loss curve in braille characters and as SVG. */
#include "runtime/metrics/plot.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/process/plural.h"

enum { COLUMNS = 60, ROWS = 12, DOTS_X = 2 * COLUMNS, DOTS_Y = 4 * ROWS };
enum {
  SVG_WIDTH = 720,
  SVG_HEIGHT = 420,
  SVG_LEFT = 70,
  SVG_RIGHT = 20,
  SVG_TOP = 40,
  SVG_BOTTOM = 50
};

/* Larger than any fp32 loss; sums and ranges of such values stay finite. */
static const double VALUE_MOST = 1e100;

void curve_start(Curve *curve) {
  *curve = (Curve){.values_per_point = 1};
}

void curve_add(Curve *curve, double step, double value) {
  if (!isfinite(value)) {
    curve->left_out++;
    return;
  }
  value = fmax(-VALUE_MOST, fmin(value, VALUE_MOST));
  curve->pending_step += step;
  curve->pending_value += value;
  if (++curve->pending < curve->values_per_point) return;
  if (curve->count == CURVE_POINTS) {
    for (int32_t i = 0; i < CURVE_POINTS / 2; i++) {
      int32_t left = 2 * i, right = left + 1;
      curve->step[i] = (curve->step[left] + curve->step[right]) / 2;
      curve->value[i] = (curve->value[left] + curve->value[right]) / 2;
    }
    curve->count /= 2;
    curve->values_per_point *= 2;
    return; /* this value waits to be merged with the next */
  }
  curve->step[curve->count] = curve->pending_step / (double)curve->pending;
  curve->value[curve->count++] = curve->pending_value / (double)curve->pending;
  curve->pending = 0;
  curve->pending_step = curve->pending_value = 0.0;
}

typedef struct PlotRange {
  double step_low, step_high, low, high;
} PlotRange;

static void widen(PlotRange *range, const Curve *curve) {
  for (int32_t i = 0; i < curve->count; i++) {
    range->step_low = fmin(range->step_low, curve->step[i]);
    range->step_high = fmax(range->step_high, curve->step[i]);
    range->low = fmin(range->low, curve->value[i]);
    range->high = fmax(range->high, curve->value[i]);
  }
}

static int compare_values(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(const Curve *curve) {
  double sorted[CURVE_POINTS];
  memcpy(sorted, curve->value, (size_t)curve->count * sizeof *sorted);
  qsort(sorted, (size_t)curve->count, sizeof *sorted, compare_values);
  return sorted[curve->count / 2];
}

/* A run that ends far above its first and its median loss has diverged, and one may begin far above
 * its median. Such values are outside the range; otherwise all others would be a flat line. */
static double highest_shown(const Curve *curve) {
  if (curve->count == 0) return INFINITY;
  double first = curve->value[0], middle = median(curve);
  double usual = first > 10 * middle && middle > 0 ? middle : fmax(first, middle);
  return usual > 0 ? 10 * usual : INFINITY;
}

/* Wide enough that dividing by it, and steps of a tenth of it, are significant. */
static void open_range(double low, double *high) {
  if (*high - low < 1e-9 * fmax(1.0, fabs(low))) *high = low + fmax(1.0, 1e-3 * fabs(low));
}

static bool find_range(const Plot *plot, PlotRange *range) {
  *range = (PlotRange){INFINITY, -INFINITY, INFINITY, -INFINITY};
  widen(range, plot->train);
  widen(range, plot->valid);
  if (!isfinite(range->low)) return false;
  double most = highest_shown(plot->train->count > 0 ? plot->train : plot->valid);
  range->high = fmin(range->high, fmax(most, range->low));
  if (plot->unigram > 0) {
    range->low = fmin(range->low, plot->unigram);
    range->high = fmax(range->high, plot->unigram);
  }
  open_range(range->low, &range->high);
  open_range(range->step_low, &range->step_high);
  return true;
}

static int32_t place(double value, double low, double high, int32_t cells) {
  double at = fmin((value - low) / (high - low), 1.0) * (cells - 1);
  return (int32_t)(at + 0.5);
}

/* Bits of the braille patterns at U+2800: columns of four dots, the lowest pair added last. */
static const uint8_t dot_bit[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};

static void draw_dot(uint8_t cell[ROWS][COLUMNS], int32_t x, int32_t y) {
  int32_t down = DOTS_Y - 1 - y;
  cell[down / 4][x / 2] |= dot_bit[down % 4][x % 2];
}

/* Consecutive points are joined, so that a steep curve is a line and not a scatter. */
static void draw_curve(uint8_t cell[ROWS][COLUMNS], const Curve *curve, const PlotRange *range) {
  int32_t last_x = -1, last_y = -1;
  for (int32_t i = 0; i < curve->count; i++) {
    int32_t x = place(curve->step[i], range->step_low, range->step_high, DOTS_X);
    int32_t y = place(curve->value[i], range->low, range->high, DOTS_Y);
    int32_t steps = last_x < 0                          ? 0
                    : abs(x - last_x) > abs(y - last_y) ? abs(x - last_x)
                                                        : abs(y - last_y);
    for (int32_t s = 0; s < steps; s++)
      draw_dot(cell, last_x + (x - last_x) * s / steps, last_y + (y - last_y) * s / steps);
    draw_dot(cell, x, y);
    last_x = x;
    last_y = y;
  }
}

static void add_cell(Text *out, uint8_t dots, bool valid, bool unigram) {
  if (valid)
    text_add(out, "o");
  else if (dots) /* U+2800 + dots in UTF-8 */
    text_add(out, "\xe2%c%c", 0xa0 + (dots >> 6), 0x80 + (dots & 0x3f));
  else
    text_add(out, unigram ? "-" : " ");
}

static int64_t left_out(const Plot *plot) {
  return plot->train->left_out + plot->valid->left_out;
}

static void count_above(const Curve *curve, const PlotRange *range, int32_t *count, double *most) {
  for (int32_t i = 0; i < curve->count; i++) {
    if (curve->value[i] <= range->high) continue;
    ++*count;
    *most = fmax(*most, curve->value[i]);
  }
}

/* Names the points outside the picture; "" if it shows all. */
static const char *missing_text(const Plot *plot, const PlotRange *range, char out[160]) {
  int32_t above = 0, length = 0;
  double most = -INFINITY;
  int64_t left = left_out(plot);
  *out = '\0';
  count_above(plot->train, range, &above, &most);
  count_above(plot->valid, range, &above, &most);
  if (above > 0)
    length = snprintf(out, 160, "at the upper edge: %d point%s of up to %.4g%s", above,
                      plural(above), most, left > 0 ? "; " : "");
  if (left > 0)
    (void)snprintf(out + length, (size_t)(160 - length),
                   "not drawn: %lld value%s that %s not finite", (long long)left, plural(left),
                   plural_is(left));
  return out;
}

void plot_terminal(const Plot *plot, Text *out) {
  PlotRange range;
  if (!find_range(plot, &range)) return;
  uint8_t cell[ROWS][COLUMNS] = {{0}};
  bool valid[ROWS][COLUMNS] = {{false}};
  draw_curve(cell, plot->train, &range);
  for (int32_t i = 0; i < plot->valid->count; i++) {
    int32_t x = place(plot->valid->step[i], range.step_low, range.step_high, COLUMNS);
    int32_t y = place(plot->valid->value[i], range.low, range.high, ROWS);
    valid[ROWS - 1 - y][x] = true;
  }
  int32_t unigram_row =
      plot->unigram > 0 ? ROWS - 1 - place(plot->unigram, range.low, range.high, ROWS) : -1;
  text_add(out, "%8s %s\n", "", plot->y_label);
  for (int32_t row = 0; row < ROWS; row++) {
    double value = range.high - (range.high - range.low) * row / (ROWS - 1);
    if (row % 3 == 0 || row == ROWS - 1)
      text_add(out, fabs(value) < 1000 ? "%8.3f |" : "%8.3g |", value);
    else
      text_add(out, "%8s |", "");
    for (int32_t column = 0; column < COLUMNS; column++)
      add_cell(out, cell[row][column], valid[row][column], row == unigram_row);
    text_add(out, row == unigram_row ? " unigram\n" : "\n");
  }
  text_add(out, "%8s +", "");
  for (int32_t column = 0; column < COLUMNS; column++)
    text_add(out, "-");
  text_add(out, "\n%10s%-10.0f%*.0f step\n", "", range.step_low, COLUMNS - 10, range.step_high);
  if (plot->valid->count) text_add(out, "%10so validation\n", "");
  char missing[160];
  if (*missing_text(plot, &range, missing)) text_add(out, "%10s%s\n", "", missing);
}

static double svg_x(const PlotRange *range, double step) {
  return SVG_LEFT + (step - range->step_low) / (range->step_high - range->step_low) *
                        (SVG_WIDTH - SVG_LEFT - SVG_RIGHT);
}

/* Values above the range are drawn at the upper edge. */
static double svg_y(const PlotRange *range, double value) {
  value = fmin(value, range->high);
  return SVG_HEIGHT - SVG_BOTTOM -
         (value - range->low) / (range->high - range->low) * (SVG_HEIGHT - SVG_TOP - SVG_BOTTOM);
}

/* 1, 2 or 5 times a power of ten, so that about five of them fill the span. */
static double nice_interval(double span) {
  double power = pow(10.0, floor(log10(span / 5)));
  double rest = span / 5 / power;
  return power * (rest < 1.5 ? 1 : rest < 3.5 ? 2 : rest < 7.5 ? 5 : 10);
}

typedef struct Ticks {
  double first, interval;
  int32_t count;
} Ticks;

static Ticks ticks_of(double low, double high) {
  enum { TICKS_MOST = 16 }; /* nice_interval leaves at most 8 */
  double interval = nice_interval(high - low);
  Ticks ticks = {ceil(low / interval) * interval, interval, 0};
  while (ticks.count < TICKS_MOST && ticks.first + ticks.count * interval <= high)
    ticks.count++;
  return ticks;
}

static void svg_axes(const Plot *plot, const PlotRange *range, Text *out) {
  double bottom = SVG_HEIGHT - SVG_BOTTOM, right = SVG_WIDTH - SVG_RIGHT;
  Ticks ticks = ticks_of(range->low, range->high);
  for (int32_t i = 0; i < ticks.count; i++) {
    double value = ticks.first + i * ticks.interval, y = svg_y(range, value);
    text_add(out,
             "<line x1=\"%d\" y1=\"%.1f\" x2=\"%.0f\" y2=\"%.1f\" stroke=\"#ddd\"/>"
             "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.6g</text>\n",
             SVG_LEFT, y, right, y, SVG_LEFT - 8, y + 4, value);
  }
  ticks = ticks_of(range->step_low, range->step_high);
  for (int32_t i = 0; i < ticks.count; i++) {
    double step = ticks.first + i * ticks.interval, x = svg_x(range, step);
    text_add(out,
             "<line x1=\"%.1f\" y1=\"%.0f\" x2=\"%.1f\" y2=\"%.0f\" stroke=\"#444\"/>"
             "<text x=\"%.1f\" y=\"%.0f\" text-anchor=\"middle\">%.0f</text>\n",
             x, bottom, x, bottom + 5, x, bottom + 20, step);
  }
  text_add(out, "<path d=\"M%d %dV%.0fH%.0f\" fill=\"none\" stroke=\"#444\"/>\n", SVG_LEFT, SVG_TOP,
           bottom, right);
  text_add(out, "<text x=\"%.0f\" y=\"%d\" text-anchor=\"middle\">step</text>\n",
           (SVG_LEFT + right) / 2, SVG_HEIGHT - 10);
  text_add(out,
           "<text transform=\"translate(18 %.0f) rotate(-90)\" text-anchor=\"middle\">%s</text>\n",
           (SVG_TOP + bottom) / 2, plot->y_label);
}

static void svg_curve(const Curve *curve, const PlotRange *range, const char *colour, bool dots,
                      Text *out) {
  if (curve->count == 0) return;
  text_add(out, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"1.5\" points=\"", colour);
  for (int32_t i = 0; i < curve->count; i++)
    text_add(out, "%.1f,%.1f ", svg_x(range, curve->step[i]), svg_y(range, curve->value[i]));
  text_add(out, "\"/>\n");
  for (int32_t i = 0; dots && i < curve->count; i++)
    text_add(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"/>\n",
             svg_x(range, curve->step[i]), svg_y(range, curve->value[i]), colour);
}

static void svg_text_escaped(Text *out, const char *text) {
  for (; *text; text++) {
    if (*text == '<' || *text == '&')
      text_add(out, *text == '<' ? "&lt;" : "&amp;");
    else
      text_add(out, "%c", (unsigned char)*text < ' ' ? '?' : *text); /* not allowed in XML */
  }
}

void plot_svg(const Plot *plot, Text *out) {
  PlotRange range;
  if (!find_range(plot, &range)) return;
  text_add(out,
           "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" "
           "font-family=\"sans-serif\" font-size=\"12\">\n"
           "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n<text x=\"%d\" y=\"24\" "
           "font-size=\"15\">",
           SVG_WIDTH, SVG_HEIGHT, SVG_LEFT);
  svg_text_escaped(out, plot->title);
  text_add(out, "</text>\n");
  svg_axes(plot, &range, out);
  if (plot->unigram > 0)
    text_add(out,
             "<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" stroke=\"#888\" "
             "stroke-dasharray=\"6 4\"/><text x=\"%d\" y=\"%.1f\" text-anchor=\"end\" "
             "fill=\"#666\">unigram entropy %.3f</text>\n",
             SVG_LEFT, svg_y(&range, plot->unigram), SVG_WIDTH - SVG_RIGHT,
             svg_y(&range, plot->unigram), SVG_WIDTH - SVG_RIGHT - 4,
             svg_y(&range, plot->unigram) - 5, plot->unigram);
  svg_curve(plot->train, &range, "#1f6fb4", false, out);
  svg_curve(plot->valid, &range, "#d1491f", true, out);
  text_add(out, "<text x=\"%d\" y=\"24\" text-anchor=\"end\" fill=\"#1f6fb4\">training</text>\n",
           SVG_WIDTH - SVG_RIGHT - 80);
  if (plot->valid->count)
    text_add(out,
             "<text x=\"%d\" y=\"24\" text-anchor=\"end\" fill=\"#d1491f\">validation</text>\n",
             SVG_WIDTH - SVG_RIGHT);
  char missing[160];
  if (*missing_text(plot, &range, missing))
    text_add(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\" fill=\"#666\">%s</text>\n",
             SVG_WIDTH - SVG_RIGHT, SVG_HEIGHT - 10, missing);
  text_add(out, "</svg>\n");
}
