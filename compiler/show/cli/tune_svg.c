/* tune_svg.c -- memory of a rank against time of a step, of the settings that no other beats in
 * both; of goals that look at fewer nodes a line for each number of ranks. */
#include <math.h>

#include "compiler/show/cli/tune.h"

enum { WIDTH = 760, HEIGHT = 460, LEFT = 70, RIGHT = 130, TOP = 30, BOTTOM = 50 };

typedef struct Frame {
  double bytes_least, bytes_most, ns_least, ns_most;
} Frame;

static void widen(double value, double *least, double *most) {
  *least = fmin(*least, value);
  *most = fmax(*most, value);
}

static Frame frame_of(const TuneScreen *screen) {
  Frame frame = {INFINITY, 0, INFINITY, 0};
  for (int32_t i = 0; i < screen->count; i++)
    for (int32_t k = 0; k < screen->all[i].tuned.front_count; k++) {
      const Estimate *at = &screen->all[i].tuned.front[k].estimate;
      widen((double)at->live_bytes, &frame.bytes_least, &frame.bytes_most);
      widen((double)at->step_ns, &frame.ns_least, &frame.ns_most);
    }
  frame.bytes_least *= 0.95, frame.bytes_most *= 1.05;
  frame.ns_least *= 0.95, frame.ns_most *= 1.05;
  return frame;
}

static double x_of(const Frame *f, double bytes) {
  return LEFT +
         (WIDTH - LEFT - RIGHT) * (bytes - f->bytes_least) / (f->bytes_most - f->bytes_least);
}

static double y_of(const Frame *f, double ns) {
  return HEIGHT - BOTTOM -
         (HEIGHT - TOP - BOTTOM) * (ns - f->ns_least) / (f->ns_most - f->ns_least);
}

static void draw_axes(const Frame *f, FILE *out) {
  enum { TICKS = 5 };
  const bool in_s = f->ns_most >= 1e9; /* labels of at most five letters have room */
  fprintf(out, "<path d=\"M%d %dV%dH%d\" fill=\"none\" stroke=\"#444\"/>\n", LEFT, TOP,
          HEIGHT - BOTTOM, WIDTH - RIGHT);
  for (int32_t i = 0; i <= TICKS; i++) {
    const double bytes = f->bytes_least + (f->bytes_most - f->bytes_least) * i / TICKS;
    const double ns = f->ns_least + (f->ns_most - f->ns_least) * i / TICKS;
    fprintf(out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.4g</text>\n", x_of(f, bytes),
            HEIGHT - BOTTOM + 18, bytes * 1e-9);
    fprintf(out, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.4g</text>\n", LEFT - 8,
            y_of(f, ns) + 4, ns * (in_s ? 1e-9 : 1e-6));
  }
  fprintf(out, "<text x=\"%d\" y=\"%d\">memory of a rank, GB</text>\n", LEFT, HEIGHT - 12);
  fprintf(out, "<text x=\"%d\" y=\"%d\">step, %s</text>\n", 8, 18, in_s ? "s" : "ms");
}

static void draw_front(const Frame *f, const Tuned *tuned, const char *color, FILE *out) {
  fprintf(out, "<g stroke=\"%s\" fill=\"%s\"><path fill=\"none\" d=\"", color, color);
  for (int32_t i = 0; i < tuned->front_count; i++)
    fprintf(out, "%s%.1f %.1f", i == 0 ? "M" : "L",
            x_of(f, (double)tuned->front[i].estimate.live_bytes),
            y_of(f, (double)tuned->front[i].estimate.step_ns));
  fputs("\"/>\n", out);
  for (int32_t i = 0; i < tuned->front_count; i++) {
    const TuneRow *row = &tuned->front[i];
    const Setting *s = &row->candidate.setting;
    fprintf(out,
            "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\"><title>tp %lld cp %lld pp %lld dp %lld, "
            "micro-batch %lld, zero %lld: %.4g GB, %.5g ms</title></circle>\n",
            x_of(f, (double)row->estimate.live_bytes), y_of(f, (double)row->estimate.step_ns),
            (long long)s->tp, (long long)s->cp, (long long)s->pp, (long long)row->candidate.dp,
            (long long)s->microbatch, (long long)s->zero, (double)row->estimate.live_bytes * 1e-9,
            (double)row->estimate.step_ns * 1e-6);
  }
  fputs("</g>\n", out);
}

bool tune_draw(const void *at, FILE *out) {
  static const char *const colors[] = {"#1f77b4", "#d62728", "#2ca02c", "#9467bd",
                                       "#ff7f0e", "#8c564b", "#17becf", "#7f7f7f"};
  const TuneScreen *screen = at;
  const Frame frame = frame_of(screen);
  fprintf(out,
          "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" "
          "font-family=\"sans-serif\" font-size=\"12\">\n",
          WIDTH, HEIGHT);
  draw_axes(&frame, out);
  for (int32_t i = 0; i < screen->count; i++) {
    const char *color = colors[(size_t)i % (sizeof colors / sizeof *colors)];
    const Tuned *tuned = &screen->all[i].tuned;
    if (tuned->front_count == 0) continue;
    draw_front(&frame, tuned, color, out);
    fprintf(out, "<text x=\"%d\" y=\"%d\" fill=\"%s\">%lld ranks</text>\n", WIDTH - RIGHT + 16,
            TOP + 18 * (i + 1), color, (long long)tuned->cluster.ranks);
  }
  fputs("</svg>\n", out);
  return ferror(out) == 0;
}
