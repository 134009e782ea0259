/* mutants.c -- what the proof accepts is right: seeded mutants of a plan of every strategy are each
 * refused, or run to the same bits as the original. And what is right it accepts: so are neighbours
 * that change places where nothing forbids it.
 *
 * Accepted mutants run for two steps with all ranks as threads, under random delays, with NaN where
 * nothing was written (trial.h). One that hangs, crashes or differs is a failure, and so is an
 * original that does not repeat itself.
 *
 *   mutants                       a few of every strategy and kind, for every build
 *   mutants full [N [SEED [KIND]]]   N (1,000) of every strategy, of all kinds: nightly_mutants
 *   mutants of STRATEGY [N [SEED [KIND]]]   of one; or of a job file, of two steps
 *   mutants random JOBS [N [SEED [KIND]]]   of so many jobs by seed (tests/parity/user_models.h)
 *   mutants one STRATEGY KIND SEED   what the proof says of one, and what comes of running it
 *   mutants job STRATEGY          its job file */
#include <stdlib.h>
#include <unistd.h>

#include "compiler/plan/prove/prove.h"
#include "tests/common/folder.h"
#include "tests/mutants/reorder.h"
#include "tests/mutants/strategies.h"
#include "tests/mutants/trial.h"
#include "tests/parity/user_models.h"
#include "tests/unit/check.h"
#include "tests/unit/plan_mutate.h"

#ifdef __SANITIZE_THREAD__
enum { MUTANTS_FEW = 1 };
#else
enum { MUTANTS_FEW = 4 }; /* of each kind */
#endif
enum { MUTANTS_FULL = 1000, LIMIT_S = 20, ORIGINALS = 3, EVENT_TRIES = 4, PATH_BYTES = 128 };

static char folder[TEST_FOLDER_BYTES];

/* ---- judgement */

typedef struct Tally {
  int made, refused, equal, failed;
} Tally;

typedef struct Subject {
  const Strategy *strategy;
  const Plan *good;
  Trial original;
  Tally tally[MUTATION_KIND_COUNT];
  Tally orders[REORDER_KIND_COUNT];
} Subject;

/* Mutants of events run on queues, a few times: what they would show depends on who comes first. */
static Trial try_mutant(const Subject *s, MutationKind kind, const Plan *plan, uint64_t seed) {
  TrialHow how = {.seed = seed, .limit_s = LIMIT_S, .on_queues = kind == MUTATION_EVENT};
  Trial trial = trial_run(plan, s->good, how);
  for (int i = 1; how.on_queues && i < EVENT_TRIES && trial_equal(&trial, &s->original); i++) {
    how.seed += 1000003;
    trial = trial_run(plan, s->good, how);
  }
  return trial;
}

static void judge(Subject *s, MutationKind kind, uint64_t seed) {
  static ProveReport report;
  PlanBuilder mutant = {0};
  char text[MUTATION_TEXT_BYTES];
  Tally *tally = &s->tally[kind];
  if (!plan_mutate(s->good, seed, kind, &mutant, text)) return;
  Plan plan = build_view(&mutant);
  tally->made++;
  if (!prove(&plan, &report)) {
    tally->refused++;
  } else {
    Trial trial = try_mutant(s, kind, &plan, seed);
    bool equal = trial_equal(&trial, &s->original);
    *(equal ? &tally->equal : &tally->failed) += 1;
    if (!equal)
      printf("  %s %s %llu: %s: %s\n", s->strategy->name, mutation_names[kind],
             (unsigned long long)seed, text, trial_difference(&trial, &s->original));
  }
  build_free(&mutant);
}

static void judge_order(Subject *s, ReorderKind kind, uint64_t seed) {
  static ProveReport report;
  PlanBuilder builder = {0};
  char text[REORDER_TEXT_BYTES];
  if (!plan_reorder(s->good, seed, kind, &builder, text)) return;
  Plan plan = build_view(&builder);
  bool proven = prove(&plan, &report);
  s->orders[kind].made++;
  s->orders[kind].equal += proven;
  if (!proven)
    printf("  %s order %llu: %s: %s\n", s->strategy->name, (unsigned long long)seed, text,
           report.finding[0]);
  build_free(&builder);
}

/* The original, again and again, and on queues. */
static bool run_original(Subject *s) {
  for (uint64_t i = 0; i < ORIGINALS; i++) {
    const TrialHow how = {.seed = i, .limit_s = LIMIT_S, .on_queues = i + 1 == ORIGINALS};
    Trial trial = trial_run(s->good, s->good, how);
    if (i == 0) s->original = trial;
    if (trial_equal(&trial, &s->original)) continue;
    printf("  %s itself %s\n", s->strategy->name, trial_difference(&trial, &s->original));
    return false;
  }
  return true;
}

/* ---- all of it */

static Tally add(Tally a, Tally b) {
  return (Tally){a.made + b.made, a.refused + b.refused, a.equal + b.equal, a.failed + b.failed};
}

static void print_row(const char *name, const char *kind, Tally t) {
  printf("%-18s %-18s %6d %8d %6d %6d %8.2f %%\n", name, kind, t.made, t.refused, t.equal, t.failed,
         t.made > 0 ? 100.0 * t.refused / t.made : 0);
}

/* The mutants to make: `each` of every kind, from number `first` on; kinds kind_first to kind_end
 * - 1.
 */
typedef struct Extent {
  int each, first, kind_first, kind_end;
  bool quiet; /* only what fails is printed, and the sums */
} Extent;

static void judge_strategy(Subject *s, Extent extent) {
  for (int kind = extent.kind_first; kind < extent.kind_end; kind++) {
    int each = extent.each, first = extent.first;
    for (int seed = first; s->tally[kind].made < each && seed < first + 4 * each; seed++)
      judge(s, (MutationKind)kind, (uint64_t)seed);
    if (!extent.quiet) print_row(s->strategy->name, mutation_names[kind], s->tally[kind]);
    fflush(stdout);
  }
  for (int kind = 0; kind < REORDER_KIND_COUNT; kind++)
    for (int seed = extent.first; seed < extent.first + extent.each; seed++)
      judge_order(s, (ReorderKind)kind, (uint64_t)seed);
}

/* The results of all subjects. */
typedef struct Sums {
  Tally kinds[MUTATION_KIND_COUNT], orders[REORDER_KIND_COUNT];
} Sums;

static void judge_plan(const Strategy *strategy, const Plan *good, Extent extent, Sums *sums) {
  Subject s = {.strategy = strategy, .good = good};
  if (run_original(&s))
    judge_strategy(&s, extent);
  else
    CHECK(!"the original runs, and repeats itself");
  for (int kind = 0; kind < MUTATION_KIND_COUNT; kind++)
    sums->kinds[kind] = add(sums->kinds[kind], s.tally[kind]);
  for (int kind = 0; kind < REORDER_KIND_COUNT; kind++)
    sums->orders[kind] = add(sums->orders[kind], s.orders[kind]);
}

static void judge_one(const Strategy *strategy, Extent extent, Sums *sums) {
  JobCompile job;
  bool compiled = strategy_compile(strategy, folder, &job);
  CHECK(compiled);
  if (compiled) judge_plan(strategy, &job.plan, extent, sums);
  job_compile_close(&job);
}

static void print_head(void) {
  printf("%-18s %-18s %6s %8s %6s %6s %10s\n", "strategy", "kind", "made", "refused", "equal",
         "failed", "refused");
}

static void judge_sums(const Sums *sums, Extent extent) {
  Tally all = {0}, order = add(sums->orders[REORDER_RECORDS], sums->orders[REORDER_CALLS]);
  for (int kind = extent.kind_first; kind < extent.kind_end; kind++) {
    print_row("all", mutation_names[kind], sums->kinds[kind]);
    all = add(all, sums->kinds[kind]);
  }
  print_row("all", "", all);
  printf("free orders accepted: %d of %d of records, %d of %d of calls\n",
         sums->orders[REORDER_RECORDS].equal, sums->orders[REORDER_RECORDS].made,
         sums->orders[REORDER_CALLS].equal, sums->orders[REORDER_CALLS].made);
  CHECK(all.made > 0 && all.failed == 0);
  CHECK(order.made > 0 && order.equal * 100 >= order.made * 99);
}

/* Judges mutants of all strategies; `only`: of that one. */
static void judge_all(const Strategy *only, Extent extent) {
  Sums sums = {0};
  print_head();
  for (size_t i = 0; i < (only != NULL ? 1 : strategies_count); i++)
    judge_one(only != NULL ? only : &strategies[i], extent, &sums);
  judge_sums(&sums, extent);
}

/* ---- jobs by seed */

static void write_random(uint64_t seed, char path[PATH_BYTES]) {
  char model[PATH_BYTES];
  (void)snprintf(model, sizeof model, "%s/model.lua", folder);
  (void)snprintf(path, PATH_BYTES, "%s/job.lua", folder);
  FILE *out = fopen(model, "w"), *job = fopen(path, "w");
  if (out == NULL || job == NULL) abort();
  bool has_seq = user_model_write(out, seed);
  fputs("return job { model = { './model.lua' }, data = 'synthetic', precision = 'fp32',\n"
        "  optimizer = { 'adamw', lr = 1e-2 },\n",
        job);
  user_way_write(job, seed, "here", has_seq);
  fprintf(job, "  train = { batch = '8 %s', microbatch = 2, steps = %d%s } }\n",
          has_seq ? "sequences" : "samples", TRIAL_STEPS, has_seq ? ", context = 16" : "");
  fclose(out), fclose(job);
}

/* Jobs that are refused as their user's mistake are none. */
static bool judge_random_job(uint64_t seed, Extent extent, Sums *sums) {
  char path[PATH_BYTES], plan_path[PATH_BYTES], name[32];
  const char *error = "";
  JobCompile job;
  write_random(seed, path);
  (void)snprintf(plan_path, sizeof plan_path, "%s/plan", folder);
  (void)snprintf(name, sizeof name, "job %llu", (unsigned long long)seed);
  bool compiled = job_compile(&job, path, plan_path, &error);
  extent.first = (int)seed; /* other mutants of each */
  if (compiled)
    judge_plan(&(Strategy){.name = name}, &job.plan, extent, sums);
  else if (job.compile->is_defect)
    CHECK(!printf("%s: %s\n", name, error));
  job_compile_close(&job);
  (void)unlink(plan_path);
  return compiled;
}

static void judge_random(int jobs, Extent extent) {
  Sums sums = {0};
  int compiled = 0;
  extent.quiet = true;
  print_head();
  for (int seed = extent.first; seed < extent.first + jobs; seed++)
    compiled += judge_random_job((uint64_t)seed, extent, &sums);
  printf("%d jobs of %d\n", compiled, jobs);
  judge_sums(&sums, extent);
}

static const Strategy *find_strategy(const char *name) {
  const Strategy *strategy = strategy_find(name);
  if (strategy != NULL) return strategy;
  printf("no strategy is called '%s'\n", name);
  exit(1);
}

static int kind_called(const char *name) {
  for (int kind = 0; kind < MUTATION_KIND_COUNT; kind++)
    if (strcmp(mutation_names[kind], name) == 0) return kind;
  printf("no kind of mutants is called '%s'\n", name);
  exit(1);
}

static void show_one(const char *name, const char *kind_name, uint64_t seed) {
  static ProveReport report;
  Subject s = {.strategy = find_strategy(name)};
  JobCompile job;
  PlanBuilder mutant = {0};
  char text[MUTATION_TEXT_BYTES];
  int kind = kind_called(kind_name);
  if (!strategy_compile(s.strategy, folder, &job) ||
      !plan_mutate(&job.plan, seed, (MutationKind)kind, &mutant, text))
    return;
  s.good = &job.plan;
  printf("%s\n", text);
  Plan plan = build_view(&mutant);
  if (prove(&plan, &report)) {
    (void)run_original(&s);
    Trial trial = try_mutant(&s, (MutationKind)kind, &plan, seed);
    bool equal = trial_equal(&trial, &s.original);
    printf("accepted; %s\n", equal ? "the same" : trial_difference(&trial, &s.original));
  }
  for (uint32_t i = 0; i < report.finding_count && i < PROVE_FINDINGS_MAX; i++)
    printf("%s\n", report.finding[i]);
  build_free(&mutant);
  job_compile_close(&job);
}

/* The arguments from `index` on: [N [SEED [KIND]]]. */
static Extent extent_of(int argc, char **argv, int index) {
  Extent extent = {MUTANTS_FULL / MUTATION_KIND_COUNT, 0, 0, MUTATION_KIND_COUNT, false};
  if (argc > index + 2) {
    extent.kind_first = kind_called(argv[index + 2]);
    extent.kind_end = extent.kind_first + 1;
  }
  if (argc > index) extent.each = atoi(argv[index]) / (extent.kind_end - extent.kind_first);
  if (argc > index + 1) extent.first = atoi(argv[index + 1]);
  return extent;
}

static void remove_folder(void) {
  static const char *const names[] = {"model.lua", "job.lua"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    char path[PATH_BYTES];
    (void)snprintf(path, sizeof path, "%s/%s", folder, names[i]);
    (void)unlink(path);
  }
  (void)rmdir(folder);
}

int main(int argc, char **argv) {
  const char *what = argc > 1 ? argv[1] : "few", *which = argc > 2 ? argv[2] : "";
  if (!test_folder(folder, "mutants")) return 1;
  if (strcmp(what, "job") == 0)
    strategy_write_job(stdout, find_strategy(which));
  else if (strcmp(what, "one") == 0 && argc > 4)
    show_one(which, argv[3], strtoull(argv[4], NULL, 10));
  else if (strcmp(what, "of") == 0)
    judge_all(find_strategy(which), extent_of(argc, argv, 3));
  else if (strcmp(what, "random") == 0)
    judge_random(atoi(which), extent_of(argc, argv, 3));
  else if (strcmp(what, "full") == 0)
    judge_all(NULL, extent_of(argc, argv, 2));
  else
    judge_all(NULL, (Extent){MUTANTS_FEW, 0, 0, MUTATION_KIND_COUNT, false});
  remove_folder();
  CHECK_DONE();
}
