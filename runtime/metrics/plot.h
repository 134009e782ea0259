/* plot.h -- loss curves of any length in bounded memory, drawn in the terminal and as SVG. */
#ifndef LOCKSTEP_METRICS_PLOT_H
#define LOCKSTEP_METRICS_PLOT_H

#include "runtime/process/text.h"

enum { CURVE_POINTS = 2048 };

/* When full, neighbours are merged into their mean and every later point takes twice as many
 * values. */
typedef struct Curve {
  int32_t count;
  int64_t values_per_point;
  int64_t pending;
  int64_t left_out; /* values that are not finite and cannot be drawn */
  double pending_step;
  double pending_value;
  double step[CURVE_POINTS];
  double value[CURVE_POINTS];
} Curve;

void curve_start(Curve *curve);
/* Adds a value; a value that is not finite is counted but not drawn. */
void curve_add(Curve *curve, double step, double value);

typedef struct Plot {
  const char *title;
  const char *y_label;
  const Curve *train;
  const Curve *valid;
  double unigram; /* drawn as a line; 0: none */
} Plot;

/* 60 x 12 braille characters with axes; o marks validation. Prints nothing if there are no points.
 */
void plot_terminal(const Plot *plot, Text *out);
void plot_svg(const Plot *plot, Text *out);

#endif
