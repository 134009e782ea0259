/* Numbers for people, bounded curves, plots, and the learning rate.
 * LINK: runtime plan_builder */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "runtime/metrics/plot.h"
#include "runtime/plan/schedule.h"
#include "tests/unit/check.h"
#include "tests/unit/plan_builder.h"

static void test_quantities(void) {
  char out[QUANTITY_BYTES];
  TEST("quantities have three digits and a unit") {
    CHECK_TEXT(text_count(out, 0), "0");
    CHECK_TEXT(text_count(out, 999), "999");
    CHECK_TEXT(text_count(out, 41234), "41.2 k");
    CHECK_TEXT(text_count(out, 999600), "1.00 M");
    CHECK_TEXT(text_count(out, 1.5e13), "15.0 T");
    CHECK_TEXT(text_bytes(out, 52.4e6), "52.4 MB");
    CHECK_TEXT(text_bytes(out, 123456789), "123 MB");
    CHECK_TEXT(text_duration(out, 0.25), "0.2 s");
    CHECK_TEXT(text_duration(out, 15), "15 s");
    CHECK_TEXT(text_duration(out, 200), "3 m 20 s");
    CHECK_TEXT(text_duration(out, 7500), "2 h 05 m");
    CHECK_TEXT(text_duration(out, 1e6), "11 d 13 h");
    CHECK_TEXT(text_duration(out, NAN), "11574074 d 01 h");
    CHECK_TEXT(text_grouped(out, 124439808), "124,439,808");
    (void)text_duration(out, 200);
    CHECK_TEXT(text_squeeze(out), "3m20s");
    (void)text_count(out, 41234);
    CHECK_TEXT(text_squeeze(out), "41.2k");
    CHECK_TEXT(text_grouped(out, -1234), "-1,234");
  }
  TEST("JSON strings are escaped, numbers that are none are null") {
    static Text text;
    text_start(&text, -1);
    text_add_json_string(&text, "a\"b\\c\n");
    text_add_json_number(&text, NAN);
    text_add_json_number(&text, 0.5);
    CHECK_TEXT(text.bytes, "\"a\\\"b\\\\c\\u000a\"null0.5");
  }
  TEST("JSON strings are UTF-8, whatever a file is called") {
    static Text text;
    text_start(&text, -1);
    text_add_json_string(&text, "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\x1b\x7f");
    CHECK_TEXT(text.bytes, "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\\u001b\\u007f\"");
    text_start(&text, -1);
    text_add_json_string(&text, "\xe9-\xed\xa0\x80-\xf5-\xc0\x80-\xe2\x82");
    CHECK_TEXT(text.bytes,
               "\"\\ufffd-\\ufffd\\ufffd\\ufffd-\\ufffd-\\ufffd\\ufffd-\\ufffd\\ufffd\"");
  }
}

static void test_screen(void) {
  static Text text;
  TEST("lines for people have no byte of a name that steers, and keep their own breaks") {
    text_start_screen(&text, -1);
    text_add(&text, "a %s\nb\n", "\x1b[31m\xe2\x82\xac\xff\x7f");
    CHECK_TEXT(text.bytes, "a \\x1b[31m\xe2\x82\xac\\xff\\x7f\nb\n");
    text_start_screen(&text, -1);
    text_add(&text, "saved %s\n", "x\nrank 0: all is well");
    CHECK_TEXT(text.bytes, "saved x\\nrank 0: all is well\n");
    text_start_screen(&text, -1);
    char name[TEXT_BYTES];
    memset(name, 1, sizeof name - 1);
    name[sizeof name - 1] = 0;
    for (int i = 0; i < 3; i++)
      text_add(&text, "%s", name);
    CHECK(text.length < TEXT_BYTES && strlen(text.bytes) == text.length);
  }
  TEST("files get what they are given") {
    text_start(&text, -1);
    text_add(&text, "%s\n", "\x1b\n");
    CHECK_TEXT(text.bytes, "\x1b\n\n");
  }
}

static Curve train, valid;

static void test_curve(void) {
  TEST("a curve of any length stays within its points and keeps its mean") {
    curve_start(&train);
    double sum = 0;
    for (int i = 1; i <= 100000; i++)
      curve_add(&train, i, (double)i);
    for (int i = 0; i < train.count; i++)
      sum += train.value[i];
    CHECK(train.count > CURVE_POINTS / 2 && train.count <= CURVE_POINTS);
    CHECK_NEAR(sum / train.count, 50000, 64);
    for (int i = 1; i < train.count; i++)
      CHECK(train.step[i] > train.step[i - 1]);
  }
}

static int32_t count_lines(const char *text) {
  int32_t lines = 0;
  for (; *text; text++)
    lines += *text == '\n';
  return lines;
}

/* A braille character is three bytes and one column. */
static int32_t widest_line(const char *text) {
  int32_t widest = 0, columns = 0;
  for (; *text; text++) {
    columns = *text == '\n' ? 0 : columns + ((unsigned char)*text >> 6 != 2);
    if (columns > widest) widest = columns;
  }
  return widest;
}

/* The least and the greatest y of the training curve. */
static void curve_span(const char *svg, double span[2]) {
  const char *at = strstr(svg, "points=\"");
  span[0] = INFINITY;
  span[1] = -INFINITY;
  double x, y;
  int used = 0;
  for (at = at ? at + 8 : ""; sscanf(at, "%lf,%lf %n", &x, &y, &used) == 2; at += used) {
    span[0] = fmin(span[0], y);
    span[1] = fmax(span[1], y);
  }
}

static void test_frame(void) {
  static char svg[1 << 20];
  static Text text;
  Plot plot = {"steep", "loss", &train, &valid, 0};
  curve_start(&train);
  curve_start(&valid);
  for (int i = 1; i <= 1000; i++) /* the first points are far above the range that is shown */
    curve_add(&train, i, i < 5 ? 5000.0 / i : 3 - 0.001 * i);
  curve_add(&valid, 500, 2.5);
  TEST("a terminal plot of any loss fits 80 columns") {
    text_start(&text, -1);
    plot_terminal(&plot, &text);
    CHECK(widest_line(text.bytes) <= 80);
    curve_add(&train, 10000000, 3e12);
    text_start(&text, -1);
    plot_terminal(&plot, &text);
    CHECK(widest_line(text.bytes) <= 80);
  }
  TEST("no point of the SVG is outside of its frame") {
    int ends[2];
    CHECK_INT(pipe2(ends, 0), 0);
    (void)fcntl(ends[1], F_SETPIPE_SZ, (int)sizeof svg);
    text_start(&text, ends[1]);
    plot_svg(&plot, &text);
    CHECK(text_flush(&text));
    ssize_t length = read(ends[0], svg, sizeof svg - 1);
    close(ends[0]), close(ends[1]);
    CHECK(length > 0);
    svg[length > 0 ? length : 0] = 0;
    double span[2];
    curve_span(svg, span);
    CHECK(span[0] >= 40 && span[1] <= 370 && span[0] < span[1]);
  }
}

/* The SVG goes through a pipe that holds so much and no more. */
static size_t svg_of(const Plot *plot, char *svg, size_t bytes) {
  static Text text;
  int ends[2];
  if (pipe2(ends, O_NONBLOCK) != 0) return 0;
  (void)fcntl(ends[1], F_SETPIPE_SZ, (int)bytes);
  text_start(&text, ends[1]);
  plot_svg(plot, &text);
  (void)text_flush(&text);
  ssize_t length = read(ends[0], svg, bytes - 1);
  close(ends[0]), close(ends[1]);
  svg[length > 0 ? length : 0] = 0;
  return length > 0 ? (size_t)length : 0;
}

static int count_of(const char *text, const char *word) {
  int count = 0;
  for (; (text = strstr(text, word)) != NULL; text++)
    count++;
  return count;
}

static void test_huge(void) {
  static char svg[1 << 20];
  static Text text;
  static const double huge[] = {1e16, 1e30, 3.4e38, 1e300, -1e300, 1.7976931348623157e308, 5e-324};
  Plot plot = {"diverged", "loss", &train, &valid, 0};
  TEST("pictures of equal and of mixed huge losses end, in their frame") {
    for (size_t i = 0; i < 2 * sizeof huge / sizeof *huge; i++) {
      curve_start(&train);
      curve_start(&valid);
      double value = huge[i / 2];
      for (int step = 1; step <= 100; step++)
        curve_add(&train, step, i % 2 && step < 60 ? 3 : value);
      size_t length = svg_of(&plot, svg, sizeof svg);
      CHECK(length > 500 && length < 10000 && strstr(svg, "</svg>\n"));
      CHECK(!strstr(svg, "nan") && !strstr(svg, "inf"));
      double span[2];
      curve_span(svg, span);
      CHECK(span[0] >= 40 && span[1] <= 370);
      CHECK(count_of(svg, "#ddd") >= 2 && count_of(svg, "#ddd") <= 12);
      text_start(&text, -1);
      plot_terminal(&plot, &text);
      CHECK(count_lines(text.bytes) == 15 || count_lines(text.bytes) == 16);
      CHECK(widest_line(text.bytes) <= 80);
    }
  }
  TEST("a long curve of the largest losses has finite means") {
    curve_start(&train);
    for (int step = 1; step <= 3 * CURVE_POINTS; step++)
      curve_add(&train, step, 1.7e308);
    svg_of(&plot, svg, sizeof svg);
    CHECK(strstr(svg, "</svg>\n") && !strstr(svg, "nan") && !strstr(svg, "inf"));
  }
}

static void test_range(void) {
  static char svg[1 << 20];
  static Text text;
  Plot plot = {"diverged", "loss", &train, &valid, 0};
  TEST("what came before a run diverged is no flat line") {
    curve_start(&train);
    for (int step = 1; step <= 100; step++)
      curve_add(&train, step, step < 90 ? 5 - 0.04 * step : pow(10, step - 60));
    svg_of(&plot, svg, sizeof svg);
    char *end = strstr(svg, " \"/>");
    double span[2];
    CHECK(end != NULL);
    curve_span(svg, span);
    CHECK(span[0] >= 40 && span[1] <= 370);
    CHECK(strstr(svg, ">20</text>") && !strstr(svg, ">1e+") && strstr(svg, "at the upper edge: "));
  }
  TEST("the first points of a usual run are inside the range") {
    curve_start(&train);
    for (int step = 1; step <= 500; step++)
      curve_add(&train, step, 3 + 8 * exp(-step / 5.0));
    svg_of(&plot, svg, sizeof svg);
    CHECK(strstr(svg, ">9</text>") || strstr(svg, ">8</text>"));
    CHECK(!strstr(svg, "upper edge"));
  }
  TEST("a first loss far above all others is outside, and said to be") {
    curve_start(&train);
    for (int step = 1; step <= 500; step++)
      curve_add(&train, step, step == 1 ? 4000 : 3 + 1.0 / step);
    svg_of(&plot, svg, sizeof svg);
    CHECK(strstr(svg, "at the upper edge: 1 point of up to 4000"));
    CHECK(strstr(svg, ">30</text>") && !strstr(svg, ">40</text>"));
  }
  TEST("losses that are not finite are counted beside the picture") {
    curve_start(&train);
    curve_add(&train, 1, 3);
    curve_add(&train, 2, 2);
    for (int step = 101; step <= 103; step++)
      curve_add(&train, step, step == 102 ? NAN : INFINITY);
    svg_of(&plot, svg, sizeof svg);
    CHECK(strstr(svg, "not drawn: 3 values that are not finite"));
    text_start(&text, -1);
    plot_terminal(&plot, &text);
    CHECK(strstr(text.bytes, "not drawn: 3 values"));
  }
}

static void test_plot(void) {
  static Text text;
  Plot plot = {"a < b", "loss", &train, &valid, 3.0};
  curve_start(&train);
  curve_start(&valid);
  TEST("nothing is drawn of nothing") {
    text_start(&text, -1);
    plot_terminal(&plot, &text);
    plot_svg(&plot, &text);
    CHECK_INT(text.length, 0);
  }
  for (int i = 1; i <= 200; i++)
    curve_add(&train, i, 2 + 3.5 * exp(-i / 30.0));
  curve_add(&valid, 100, 2.3);
  TEST("the terminal plot has twelve rows, an axis and its marks") {
    text_start(&text, -1);
    plot_terminal(&plot, &text);
    CHECK_INT(count_lines(text.bytes), 16);
    CHECK(strchr(text.bytes, 'o') && strstr(text.bytes, "unigram") &&
          strstr(text.bytes, "validation"));
  }
  TEST("the SVG closes what it opens and escapes its title") {
    text_start(&text, -1);
    plot_svg(&plot, &text);
    CHECK(strstr(text.bytes, "<svg ") && strstr(text.bytes, "</svg>\n"));
    CHECK(strstr(text.bytes, "a &lt; b") && !strstr(text.bytes, "nan"));
    CHECK(strstr(text.bytes, ">step</text>") && strstr(text.bytes, "unigram entropy 3.000"));
  }
  TEST("a single point and equal points have a range") {
    curve_start(&train);
    curve_start(&valid);
    curve_add(&train, 1, 2);
    curve_add(&train, 1, INFINITY);
    plot.unigram = 0;
    text_start(&text, -1);
    plot_terminal(&plot, &text);
    CHECK_INT(count_lines(text.bytes), 16); /* one value is not drawn */
  }
}

static double rate_of(const BuildJob *job, int64_t step) {
  PlanBuilder builder = {0};
  build_string(&builder, "");
  build_job(&builder, *job);
  const Plan plan = build_view(&builder);
  double rate = schedule_lr(&plan, step);
  build_free(&builder);
  return rate;
}

static void test_schedule(void) {
  BuildJob job = {.lr = 2, .lr_floor = 0.1, .lr_warmup_floor = 0.5};
  job.warmup_steps = 10;
  job.schedule_over = 109;
  TEST("warm-up rises linearly and reaches lr in its last step") {
    CHECK_NEAR(rate_of(&job, 1), 2 * 0.55, 1e-12);
    CHECK_NEAR(rate_of(&job, 9), 2 * 0.95, 1e-12);
    CHECK_NEAR(rate_of(&job, 10), 2, 0);
  }
  TEST("constant stays, linear and cosine are at the floor after the last step of decay") {
    CHECK_NEAR(rate_of(&job, 1000), 2, 0);
    for (uint32_t schedule = SCHEDULE_LINEAR; schedule <= SCHEDULE_COSINE; schedule++) {
      job.schedule = schedule;
      CHECK_NEAR(rate_of(&job, 10), 2, 1e-12);
      CHECK_NEAR(rate_of(&job, 60), 2 * 0.55, 1e-12);
      CHECK(rate_of(&job, 109) > 0.2004);
      CHECK_NEAR(rate_of(&job, 110), 0.2, 1e-12);
      CHECK_NEAR(rate_of(&job, 5000), 0.2, 1e-12);
    }
    CHECK_NEAR(rate_of(&job, 35), 2 * (0.1 + 0.9 * 0.5 * (1 + cos(0.25 * 3.14159265358979))),
               1e-12);
  }
}

/* get_cosine_schedule_with_warmup and get_linear_schedule_with_warmup: the factor in step number
 * `step`, counted from 0. */
static double hugging_face(bool cosine, double step, double warmup, double total) {
  if (step < warmup) return step / warmup;
  double progress = (step - warmup) / (total - warmup);
  return cosine ? 0.5 * (1 + cos(3.14159265358979 * progress)) : 1 - progress;
}

static void test_schedule_of_others(void) {
  BuildJob job = {.lr = 1, .schedule_over = 30};
  TEST("without warm-up they are PyTorch's and Hugging Face's, the last step included") {
    for (uint32_t schedule = SCHEDULE_LINEAR; schedule <= SCHEDULE_COSINE; schedule++)
      for (int64_t step = 1; step <= 30; step++) {
        job.schedule = schedule;
        double theirs = hugging_face(schedule == SCHEDULE_COSINE, (double)step - 1, 0, 30);
        CHECK_NEAR(rate_of(&job, step), theirs, 1e-12);
        CHECK(rate_of(&job, step) > 0);
      }
  }
  TEST("with warm-up they are Hugging Face's of one more step, without its idle first one") {
    job.warmup_steps = 7;
    for (uint32_t schedule = SCHEDULE_LINEAR; schedule <= SCHEDULE_COSINE; schedule++)
      for (int64_t step = 1; step <= 30; step++) {
        job.schedule = schedule;
        double theirs = hugging_face(schedule == SCHEDULE_COSINE, (double)step, 7, 31);
        CHECK_NEAR(rate_of(&job, step), theirs, 1e-12);
      }
  }
  TEST("a run of one step trains, whatever the warm-up") {
    job.schedule_over = 1;
    for (job.warmup_steps = 0; job.warmup_steps <= 1; job.warmup_steps++)
      for (uint32_t schedule = SCHEDULE_CONSTANT; schedule <= SCHEDULE_COSINE; schedule++) {
        job.schedule = schedule;
        CHECK_NEAR(rate_of(&job, 1), 1, 0);
      }
  }
}

/* get_wsd_schedule of transformers: _get_wsd_scheduler_lambda in step number `step`, from 0. */
static double their_wsd(DecayShape shape, double step, double warmup, double stable, double decay,
                        double floor) {
  if (step < warmup) return step / fmax(1, warmup) * (1 - floor) + floor;
  if (step < warmup + stable) return 1;
  if (step >= warmup + stable + decay) return floor;
  double p = (step - warmup - stable) / fmax(1, decay);
  double factor = shape == DECAY_LINEAR   ? 1 - p
                  : shape == DECAY_COSINE ? 0.5 * (1 + cos(3.14159265358979323846 * p))
                                          : 1 - sqrt(p);
  return factor * (1 - floor) + floor;
}

/* get_polynomial_decay_schedule_with_warmup: lr_end is `floor` of lr. */
static double their_polynomial(double power, double step, double warmup, double total,
                               double floor) {
  if (step < warmup) return step / fmax(1, warmup);
  if (step > total) return floor;
  return (1 - floor) * pow(1 - (step - warmup) / (total - warmup), power) + floor;
}

/* With warm-up, step s of ours is step s of theirs in a run of one more step, counted from 0. */
static void check_wsd(BuildJob *job, int64_t warmup) {
  job->warmup_steps = warmup;
  job->lr_warmup_floor = job->lr_floor; /* theirs is one number */
  int64_t skipped = warmup > 0;
  for (uint32_t shape = 0; shape < DecayShape_COUNT; shape++)
    for (int64_t step = 1; step <= 45; step++) {
      job->decay_shape = shape;
      double stable = (double)(40 + skipped - warmup - 12);
      double theirs = their_wsd((DecayShape)shape, (double)(step - 1 + skipped), (double)warmup,
                                stable, 12, job->lr_floor);
      CHECK_NEAR(rate_of(job, step), theirs, 1e-12);
    }
}

static void test_new_schedules_of_others(void) {
  TEST("wsd is Hugging Face's, in each shape, with and without warm-up, to the floor") {
    BuildJob job = {.lr = 1, .schedule = SCHEDULE_WSD, .schedule_over = 40, .decay_length = 12};
    check_wsd(&job, 0);
    check_wsd(&job, 7);
    job.lr_floor = 0.1;
    check_wsd(&job, 28);
    CHECK(rate_of(&job, 29) == 1); /* the decay begins here, from lr */
    CHECK(rate_of(&job, 30) < 1);
    CHECK(rate_of(&job, 40) > 0.1);
  }
  TEST("MiniCPM's stable phase: lr exactly until the decay") {
    BuildJob job = {
        .lr = 0.01, .schedule = SCHEDULE_WSD, .schedule_over = 1000, .decay_length = 100};
    job.warmup_steps = 50;
    for (int64_t step = 50; step <= 900; step++)
      CHECK(rate_of(&job, step) == 0.01);
    CHECK_NEAR(rate_of(&job, 951), 0.005, 1e-15);
  }
  TEST("polynomial is Hugging Face's for any power") {
    static const double powers[] = {0.5, 1, 2, 3.5};
    for (size_t i = 0; i < 4; i++)
      for (int64_t warmup = 0; warmup <= 7; warmup += 7)
        for (int64_t step = 1; step <= 35; step++) {
          BuildJob job = {.lr = 1, .schedule = SCHEDULE_POLYNOMIAL, .schedule_over = 30};
          job.lr_floor = 0.05, job.lr_power = powers[i], job.warmup_steps = warmup;
          double later = warmup > 0 ? 1 : 0;
          double theirs = their_polynomial(powers[i], (double)step - 1 + later, (double)warmup,
                                           30 + later, 0.05);
          CHECK_NEAR(rate_of(&job, step), theirs, 1e-12);
        }
  }
  TEST("inverse_sqrt is that of Vaswani and others: d^-0.5 min(s^-0.5, s W^-1.5), 1 at step W") {
    BuildJob job = {.lr = 1, .schedule = SCHEDULE_INVERSE_SQRT, .warmup_steps = 40};
    for (int64_t step = 1; step <= 4000; step += 13) {
      double s = (double)step, theirs = sqrt(40) * fmin(pow(s, -0.5), s * pow(40, -1.5));
      CHECK_NEAR(rate_of(&job, step), theirs, 1e-12);
    }
  }
}

int main(void) {
  test_quantities();
  test_screen();
  test_curve();
  test_plot();
  test_huge();
  test_range();
  test_frame();
  test_schedule();
  test_schedule_of_others();
  test_new_schedules_of_others();
  CHECK_DONE();
}
