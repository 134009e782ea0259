/* tune.c -- lockstep tune: the fastest degrees, order, micro-batch, ZeRO and recomputation that
 * fit; for other goals on fewer nodes, too. */
#include "compiler/show/cli/tune.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "compiler/job/units.h"
#include "compiler/search/workers.h"

static double now_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* ---- progress, of searches that take more than two seconds */

typedef struct Spoken {
  double start_s;
  atomic_int seconds; /* at the last line */
} Spoken;

static void tell(void *state, const char *what, int64_t done, int64_t all) {
  enum { SILENT_S = 2 };
  Spoken *spoken = state;
  const int now = (int)(now_s() - spoken->start_s);
  int last = atomic_load(&spoken->seconds);
  if (now < SILENT_S || now <= last ||
      !atomic_compare_exchange_strong(&spoken->seconds, &last, now))
    return;
  fprintf(stderr, "%d s: %lld of %lld %s\n", now, (long long)done, (long long)all, what);
}

/* ---- goals */

static bool read_goal(const Options *options, TuneScreen *screen) {
  static const char *const words[] = {"fastest", "cheapest", "fewest"};
  const char *goal = options->goal ? options->goal : words[GOAL_FASTEST];
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strcmp(goal, words[i]) == 0) {
      screen->goal = (Goal)i;
      return true;
    }
  screen->goal = GOAL_DEADLINE;
  if (units_duration(goal, &screen->deadline_s) && screen->deadline_s > 0) return true;
  complain(EXIT_USER, "--goal wants fastest, cheapest, fewest, or a time such as 20d, not '%.40s'",
           goal);
  return false;
}

static int32_t read_threads(const Options *options) {
  enum { THREADS_MOST = 256 };
  if (!options->threads) return workers_available();
  char *end;
  const long count = strtol(options->threads, &end, 10);
  if (end != options->threads && !*end && count >= 1 && count <= THREADS_MOST)
    return (int32_t)count;
  complain(EXIT_USER, "--threads wants 1 to %d, not '%.40s'", THREADS_MOST, options->threads);
  return 0;
}

double tune_seconds(const Tune *tune) {
  const TuneRow *row = tune_row(tune);
  return 1e-9 * (double)row->estimate.step_ns * (double)row->steps;
}

/* True if the goal likes a more than b. */
static bool is_better(const TuneScreen *screen, const Tune *a, const Tune *b) {
  if (a->row < 0 || b->row < 0) return b->row < 0;
  const double a_s = tune_seconds(a), b_s = tune_seconds(b);
  const double a_nodes = (double)a->tuned.cluster.nodes, b_nodes = (double)b->tuned.cluster.nodes;
  switch (screen->goal) {
  case GOAL_CHEAPEST: return a_s * a_nodes < b_s * b_nodes;
  case GOAL_FEWEST: return a_nodes < b_nodes;
  case GOAL_DEADLINE:
    if (a_s > screen->deadline_s || b_s > screen->deadline_s) return a_s < b_s;
    return a_nodes < b_nodes;
  default: return a_s < b_s;
  }
}

/* ---- one number of nodes */

enum { OVERRIDES = 12 }; /* those that tune adds: keys of settings, and nodes */

/* nodes 0: those of the job. False: reported. */
static bool tune_nodes(const Options *options, int64_t nodes, int32_t threads,
                       const TuneProgress *progress, Tune *out) {
  Options own = *options;
  out->row = -1;
  out->compile = open_compile();
  if (!out->compile) return false;
  Compile *c = out->compile;
  if (nodes > 0)
    own.overrides.at[own.overrides.count++] =
        arena_printf(c->arena, "cluster.nodes=%lld", (long long)nodes);
  Job *job = read_job(c, &own, &out->machine);
  out->job = job;
  if (job == NULL || compile_failed(c)) return false;
  const Subject subject = {job, &out->machine, c->specs_dir};
  if (!tune(c, &subject, threads, TUNE_ESTIMATES_MOST, progress, &out->tuned)) return false;
  int32_t row;
  if (!fit_tuned(c, &subject, &out->tuned, &row)) return false;
  out->row = row;
  return true;
}

/* Half the nodes, a quarter ...: what other numbers cost lies between. */
static void tune_fewer(TuneScreen *screen, int32_t threads, const TuneProgress *progress) {
  const int64_t nodes = screen->all[0].tuned.cluster.nodes;
  for (int64_t n = nodes / 2; n >= 1 && screen->count < NODE_COUNTS_MOST; n /= 2) {
    Tune *tune = &screen->all[screen->count++];
    tune_nodes(screen->options, n, threads, progress, tune);
    if (is_better(screen, tune, &screen->all[screen->best])) screen->best = screen->count - 1;
    if (tune->row < 0) return; /* fewer do not fit either */
  }
}

/* ---- the verb */

/* The best one's plan, compiled and proven by the same passes as every job's. */
static bool compile_best(TuneScreen *screen, Compile *c, Compiled *compiled) {
  const Tune *best = &screen->all[screen->best];
  Options own = *screen->options;
  const TextList options = setting_options(c->arena, best->job, &tune_row(best)->candidate.setting);
  if (best->tuned.cluster.nodes != screen->all[0].tuned.cluster.nodes)
    own.overrides.at[own.overrides.count++] =
        arena_printf(c->arena, "cluster.nodes=%lld", (long long)best->tuned.cluster.nodes);
  for (int32_t i = 0; i < options.count; i++)
    own.overrides.at[own.overrides.count++] = options.at[i];
  own.quiet = true;
  return compile_job(c, &own, compiled);
}

static ExitCode print_screen(TuneScreen *screen) {
  const Options *options = screen->options;
  Compile *c = open_compile();
  if (!c) return EXIT_WORLD;
  Compiled compiled;
  ExitCode code = EXIT_DONE;
  if (!compile_best(screen, c, &compiled)) {
    code = report(c, options);
  } else {
    screen->compiled = &compiled;
    (options->json ? tune_print_json : tune_print)(screen, stdout);
    if (options->svg) code = write_picture(options, tune_draw, screen);
    screen->compiled = NULL;
  }
  compile_free(c);
  return code;
}

static ExitCode tune_all(TuneScreen *screen, int32_t threads, const TuneProgress *progress) {
  Tune *first = &screen->all[screen->count++];
  const bool is_good = tune_nodes(screen->options, 0, threads, progress, first);
  if (first->compile == NULL) return EXIT_WORLD;
  if (!is_good) return report(first->compile, screen->options);
  if (screen->goal != GOAL_FASTEST) tune_fewer(screen, threads, progress);
  return print_screen(screen);
}

ExitCode verb_tune(const Options *options) {
  Tune all[NODE_COUNTS_MOST] = {0};
  TuneScreen screen = {.options = options, .all = all};
  const int32_t threads = read_threads(options);
  if (threads == 0 || !read_goal(options, &screen)) return EXIT_USER;
  if (options->overrides.count + OVERRIDES > WORDS_MAX)
    return complain(
        EXIT_USER,
        "tune tries up to %d overrides, so there may be %d of -D; got %d: put some into "
        "the job file",
        OVERRIDES, WORDS_MAX - OVERRIDES, options->overrides.count);
  Spoken spoken = {.start_s = now_s()};
  const TuneProgress progress = {tell, &spoken};
  const bool is_watched = !options->quiet && isatty(STDERR_FILENO);
  const ExitCode code = tune_all(&screen, threads, is_watched ? &progress : NULL);
  for (int32_t i = 0; i < screen.count; i++)
    if (all[i].compile != NULL) compile_free(all[i].compile);
  return code;
}
