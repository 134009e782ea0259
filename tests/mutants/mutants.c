/* mutants.c -- what the proof accepts is right: seeded mutants of a plan of every strategy are each
 * refused, or run to the same bits as the original. And what is right it accepts: so are neighbours
 * that change places where nothing forbids it.
 *
 * Accepted mutants run for two steps with all ranks as threads, under random delays, with NaN where
 * nothing was written (trial.h). One that hangs, crashes or differs is a failure, and so is an
 * original that does not repeat itself.
 *
 *   mutants                       a few of every strategy and kind that prove.h claims, for every
 *                                 build
 *   mutants full [N [SEED [KIND]]]   N (1,000) of every strategy, of all kinds: nightly_mutants
 *   mutants of STRATEGY [N [SEED [KIND]]]   of one; or of a job file, of two steps
 *   mutants one STRATEGY KIND SEED   what the proof says of one, and what comes of running it
 *   mutants job STRATEGY          its job file */
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "compiler/prove/prove.h"
#include "tests/mutants/reorder.h"
#include "tests/mutants/trial.h"
#include "tests/parity/job_compile.h"
#include "tests/unit/check.h"
#include "tests/unit/plan_mutate.h"

#ifdef __SANITIZE_THREAD__
enum { MUTANTS_FEW = 1 };
#else
enum { MUTANTS_FEW = 4 }; /* of each kind */
#endif
enum { MUTANTS_FULL = 1000, LIMIT_S = 20, PATH_BYTES = 128, ORIGINALS = 3 };

/* What a job adds to tests/parity/jobs: micro-batches in each of two steps, in fp32. */
typedef struct Strategy {
  const char *name, *model;
  int devices;
  const char *parallel, *more; /* without a model: a job file */
} Strategy;

/* Small parameters are divided, too, where all are. */
#define FOUR_LAYERS                                                                                \
  "model = { \"gpt2\", layers = 4, width = 32, heads = 4, vocab = 64, positions = 32 }, "
#define BF16      "precision = { \"bf16\", reduce = \"bf16\" }, "
#define RECOMPUTE "memory = { recompute = \"block\" }, "
static const Strategy strategies[] = {
    {"zero0", "gpt2", 2, "zero = 0", ""},
    {"zero1", "gpt2", 2, "zero = 1", ""},
    {"zero2", "llama", 2, "zero = 2", ""},
    {"zero3", "gpt2", 2, "zero = 3, zero_keep = \"1KiB\"", ""},
    {"hybrid", "llama", 4, "zero = 3, zero_keep = \"1KiB\", zero_group = 2", ""},
    {"tp", "gpt2", 2, "tp = 2, sequence = false", ""},
    {"tp+sequence", "llama", 2, "tp = 2, sequence = true", ""},
    {"ring", "llama", 2, "cp = 2, cp_kind = \"ring\"", ""},
    {"ulysses", "gpt2", 2, "cp = 2, cp_kind = \"ulysses\"", ""},
    {"gpipe", "gpt2", 2, "pp = 2, pipeline = \"gpipe\"", ""},
    {"1f1b", "llama", 2, "pp = 2, pipeline = \"1f1b\"", ""},
    {"interleaved", "gpt2", 2, "pp = 2, pipeline = { \"interleaved\", chunks = 2 }", FOUR_LAYERS},
    {"zb-h1", "gpt2", 2, "pp = 2, pipeline = \"zb-h1\"", ""},
    {"mix", "gpt2", 16, "dp = 2, tp = 2, cp = 2, cp_kind = \"ring\", pp = 2, zero = 2", ""},
    {"zero3+tp", "llama", 4, "dp = 2, tp = 2, zero = 3, zero_keep = \"0B\"", ""},
    {"zero3, per step", "gpt2", 2, "zero = 3, zero_reshard = \"step\", zero_reduce = \"step\"", ""},
    {"ulysses+tp", "gpt2", 4, "tp = 2, cp = 2, cp_kind = \"ulysses\"", ""},
    {"ring, bf16", "gpt2", 2, "cp = 2, cp_kind = \"ring\", zero = 3, zero_keep = \"0B\"", BF16},
    {"tp, recompute", "gpt2", 2, "tp = 2, sequence = true, regather = true", RECOMPUTE},
    {"interleaved+zero2", "llama", 4,
     "dp = 2, pp = 2, zero = 2, pipeline = { \"interleaved\", chunks = 2 }",
     "model = { \"llama\", layers = 4, width = 32, heads = 4, kv_heads = 2, ffn = 64, vocab = 64 "
     "}, "},
    {"zb-h1+tp", "llama", 4, "tp = 2, pp = 2, pipeline = \"zb-h1\"", RECOMPUTE},
};
enum { STRATEGIES = sizeof strategies / sizeof *strategies };

static char folder[64];

/* ---- the good plan */

static int replicas_of(const Strategy *s) {
  if (strstr(s->parallel, "dp = ") != NULL) return 2;
  return strncmp(s->parallel, "zero", 4) == 0 ? s->devices : 1;
}

/* A pipeline is more than its ends, and what repeats there is proven once. */
static int microbatches_of(const Strategy *s) {
  return strstr(s->parallel, "pp = ") != NULL ? 6 : 2;
}

static void write_job(FILE *out, const Strategy *s) {
  if (s->model == NULL) {
    fprintf(out, "return job { \"%s\" }\n", s->more);
    return;
  }
  fprintf(out, "return job { \"%s/%s.lua\",\n  %s\n", JOBS_FOLDER, s->model, s->more);
  fprintf(out,
          "  train = { batch = \"%d sequences\", microbatch = 1, context = 16, steps = %d },\n",
          microbatches_of(s) * replicas_of(s), TRIAL_STEPS);
  fprintf(out, "  parallel = { %s },\n  cluster = { \"here\", devices = %d },\n}\n", s->parallel,
          s->devices);
}

static bool compile_plan(const Strategy *s, JobCompile *job) {
  char path[PATH_BYTES], plan_path[PATH_BYTES];
  (void)snprintf(path, sizeof path, "%s/job.lua", folder);
  (void)snprintf(plan_path, sizeof plan_path, "%s/plan", folder);
  FILE *file = fopen(path, "w");
  if (!file) abort();
  write_job(file, s);
  fclose(file);
  const char *error = "";
  bool compiled = job_compile(job, path, plan_path, &error);
  if (!compiled) {
    printf("%s does not compile: %s\n", s->name, error);
    diags_print(&job->compile->diags, stdout, false);
  }
  (void)unlink(path);
  (void)unlink(plan_path);
  return compiled;
}

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

static const char *trial_text(const Trial *trial, const Trial *original) {
  switch (trial->end) {
  case TRIAL_REFUSED: return "is refused by the runtime";
  case TRIAL_HUNG: return "hangs";
  case TRIAL_CRASHED: return "crashes";
  case TRIAL_DONE: break;
  }
  if (isnan(trial->loss) || isnan(trial->norm)) return "reads what nothing has written";
  return trial->reports != original->reports ? "reports other numbers" : "ends in another state";
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
    Trial trial = trial_run(&plan, s->good, seed, LIMIT_S);
    bool equal = trial_equal(&trial, &s->original);
    *(equal ? &tally->equal : &tally->failed) += 1;
    if (!equal)
      printf("  %s %s %llu: %s: %s\n", s->strategy->name, mutation_names[kind],
             (unsigned long long)seed, text, trial_text(&trial, &s->original));
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

/* The original, again and again. */
static bool run_original(Subject *s) {
  for (uint64_t i = 0; i < ORIGINALS; i++) {
    Trial trial = trial_run(s->good, s->good, i, LIMIT_S);
    if (i == 0) s->original = trial;
    if (trial_equal(&trial, &s->original)) continue;
    printf("  %s itself %s\n", s->strategy->name, trial_text(&trial, &s->original));
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

/* What is made: so many of each kind from `first` on, of those from kind_first to before kind_end.
 */
typedef struct Extent {
  int each, first, kind_first, kind_end;
} Extent;

static void judge_strategy(Subject *s, Extent extent) {
  for (int kind = extent.kind_first; kind < extent.kind_end; kind++) {
    int each = extent.each, first = extent.first;
    for (int seed = first; s->tally[kind].made < each && seed < first + 4 * each; seed++)
      judge(s, (MutationKind)kind, (uint64_t)seed);
    print_row(s->strategy->name, mutation_names[kind], s->tally[kind]);
    fflush(stdout);
  }
  for (int kind = 0; kind < REORDER_KIND_COUNT; kind++)
    for (int seed = extent.first; seed < extent.first + extent.each; seed++)
      judge_order(s, (ReorderKind)kind, (uint64_t)seed);
}

static void judge_one(Subject *s, Extent extent) {
  JobCompile job;
  bool compiled = compile_plan(s->strategy, &job);
  CHECK(compiled);
  s->good = &job.plan;
  if (compiled && run_original(s))
    judge_strategy(s, extent);
  else
    CHECK(!"the original runs, and repeats itself");
  job_compile_close(&job);
}

/* Of all strategies; `only`: of that one. */
static void judge_all(const Strategy *only, Extent extent) {
  Tally kinds[MUTATION_KIND_COUNT] = {{0}}, orders[REORDER_KIND_COUNT] = {{0}}, all = {0};
  printf("%-18s %-18s %6s %8s %6s %6s %10s\n", "strategy", "kind", "made", "refused", "equal",
         "failed", "refused");
  for (size_t i = 0; i < (only != NULL ? 1 : STRATEGIES); i++) {
    Subject s = {.strategy = only != NULL ? only : &strategies[i]};
    judge_one(&s, extent);
    for (int kind = 0; kind < MUTATION_KIND_COUNT; kind++)
      kinds[kind] = add(kinds[kind], s.tally[kind]);
    for (int kind = 0; kind < REORDER_KIND_COUNT; kind++)
      orders[kind] = add(orders[kind], s.orders[kind]);
  }
  for (int kind = extent.kind_first; kind < extent.kind_end; kind++) {
    print_row("all", mutation_names[kind], kinds[kind]);
    all = add(all, kinds[kind]);
  }
  print_row("all", "", all);
  Tally order = add(orders[REORDER_RECORDS], orders[REORDER_CALLS]);
  printf("free orders accepted: %d of %d of records, %d of %d of calls\n",
         orders[REORDER_RECORDS].equal, orders[REORDER_RECORDS].made, orders[REORDER_CALLS].equal,
         orders[REORDER_CALLS].made);
  CHECK(all.made > 0 && all.failed == 0);
  CHECK(order.made > 0 && order.equal * 100 >= order.made * 99);
}

/* Of the table, or a job file. */
static const Strategy *find_strategy(const char *name) {
  static char absolute[PATH_MAX];
  static Strategy job = {.name = "job", .parallel = "", .more = absolute};
  for (size_t i = 0; i < STRATEGIES; i++)
    if (strcmp(strategies[i].name, name) == 0) return &strategies[i];
  if (realpath(name, absolute) != NULL) return &job;
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
  if (!compile_plan(s.strategy, &job) ||
      !plan_mutate(&job.plan, seed, (MutationKind)kind, &mutant, text))
    return;
  s.good = &job.plan;
  printf("%s\n", text);
  Plan plan = build_view(&mutant);
  if (prove(&plan, &report)) {
    (void)run_original(&s);
    Trial trial = trial_run(&plan, s.good, seed, LIMIT_S);
    bool equal = trial_equal(&trial, &s.original);
    printf("accepted; %s\n", equal ? "the same" : trial_text(&trial, &s.original));
  }
  for (uint32_t i = 0; i < report.finding_count && i < PROVE_FINDINGS_MAX; i++)
    printf("%s\n", report.finding[i]);
  build_free(&mutant);
  job_compile_close(&job);
}

/* The arguments from `index` on: [N [SEED [KIND]]]. */
static Extent extent_of(int argc, char **argv, int index) {
  Extent extent = {MUTANTS_FULL / MUTATION_KIND_COUNT, 0, 0, MUTATION_KIND_COUNT};
  if (argc > index + 2) {
    extent.kind_first = kind_called(argv[index + 2]);
    extent.kind_end = extent.kind_first + 1;
  }
  if (argc > index) extent.each = atoi(argv[index]) / (extent.kind_end - extent.kind_first);
  if (argc > index + 1) extent.first = atoi(argv[index + 1]);
  return extent;
}

int main(int argc, char **argv) {
  const char *what = argc > 1 ? argv[1] : "few", *which = argc > 2 ? argv[2] : "";
  (void)snprintf(folder, sizeof folder, "/tmp/lockstep_mutants.XXXXXX");
  if (mkdtemp(folder) == NULL) return 1;
  if (strcmp(what, "job") == 0)
    write_job(stdout, find_strategy(which));
  else if (strcmp(what, "one") == 0 && argc > 4)
    show_one(which, argv[3], strtoull(argv[4], NULL, 10));
  else if (strcmp(what, "of") == 0)
    judge_all(find_strategy(which), extent_of(argc, argv, 3));
  else if (strcmp(what, "full") == 0)
    judge_all(NULL, extent_of(argc, argv, 2));
  else
    judge_all(NULL, (Extent){MUTANTS_FEW, 0, 0, MUTATION_CLAIMED_COUNT});
  (void)rmdir(folder);
  CHECK_DONE();
}
