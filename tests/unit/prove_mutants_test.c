/* LINK: prove plan_builder plan
 * Seeded mutants of good plans: how many does the proof kill? Some mutants are good plans again, so
 * no kind is asked for all; the table is for people, the least rates below are what must not get
 * worse. The plans have no model: what their numbers should be is not known, and few that are
 * changed are refused (those of compiled plans are: tests/mutants).
 *
 * `prove_mutants_test show` prints the survivors, `prove_mutants_test FILE [N]` takes N mutants of
 * each kind from a plan that was compiled, and prints the survivors too. */
#include <stdlib.h>

#include "compiler/prove/prove.h"
#include "runtime/plan/plan_io.h"
#include "tests/unit/check.h"
#include "tests/unit/plan_mutate.h"

static const int least_percent[MUTATION_KIND_COUNT] = {
    [MUTATION_DROP] = 84,     [MUTATION_DUPLICATE] = 98, [MUTATION_SWAP] = 94,
    [MUTATION_RETARGET] = 94, [MUTATION_RESIZE] = 88,    [MUTATION_REORDER] = 92,
    [MUTATION_OVERLAP] = 99,  [MUTATION_MEANING] = 98,   [MUTATION_EVENT] = 65,
    [MUTATION_KERNEL] = 68,   [MUTATION_CONSTANT] = 36,
};

static const ExampleOptions examples[] = {
    {.layers = 3, .accumulation = 2, .replicas = 4, .classes = 1},
    {.layers = 2, .accumulation = 3, .replicas = 4, .classes = 2},
    {.layers = 2, .accumulation = 6, .replicas = 2, .classes = 1, .loop = true},
    {.layers = 3, .accumulation = 1, .replicas = 1, .classes = 1},
};

enum { MUTANTS_EACH = 400, EXAMPLES = sizeof examples / sizeof *examples };

typedef struct Tally {
  int made, killed;
} Tally;

static void judge(const Plan *good, uint64_t seed, MutationKind kind, bool show, Tally *tally) {
  static ProveReport report;
  PlanBuilder mutant = {0};
  char text[MUTATION_TEXT_BYTES];
  if (!plan_mutate(good, seed, kind, &mutant, text)) return;
  Plan plan = build_view(&mutant);
  bool proven = prove(&plan, &report);
  tally->made++;
  tally->killed += !proven;
  if (proven && show)
    printf("  seed %llu survives: %s: %s\n", (unsigned long long)seed, mutation_names[kind], text);
  build_free(&mutant);
}

static Tally add(Tally a, Tally b) {
  return (Tally){a.made + b.made, a.killed + b.killed};
}

static void print(const char *name, Tally tally) {
  printf("%-20s %5d of %5d killed: %.1f %%\n", name, tally.killed, tally.made,
         tally.made == 0 ? 0 : 100.0 * tally.killed / tally.made);
}

static int compiled(const char *path, int count) {
  char why[PLAN_WHY_BYTES];
  Plan plan;
  if (!plan_open(&plan, path, why)) {
    printf("%s\n", why);
    return 1;
  }
  Tally all = {0};
  for (int kind = 0; kind < MUTATION_KIND_COUNT; kind++) {
    Tally tally = {0};
    for (int seed = 0; seed < count; seed++)
      judge(&plan, (uint64_t)seed, (MutationKind)kind, true, &tally);
    print(mutation_names[kind], tally);
    all = add(all, tally);
  }
  print("all", all);
  plan_close(&plan);
  return 0;
}

int main(int argc, char **argv) {
  bool show = argc > 1 && strcmp(argv[1], "show") == 0;
  if (argc > 1 && !show) return compiled(argv[1], argc > 2 ? atoi(argv[2]) : 125);
  PlanBuilder builder[EXAMPLES] = {0};
  for (int i = 0; i < EXAMPLES; i++)
    build_example(&builder[i], examples[i]);
  Tally all = {0};
  TEST("mutants die") {
    for (int kind = 0; kind < MUTATION_KIND_COUNT; kind++) {
      Tally tally = {0};
      for (uint64_t seed = 0; seed < MUTANTS_EACH; seed++) {
        Plan good = build_view(&builder[seed % EXAMPLES]);
        judge(&good, seed, (MutationKind)kind, show, &tally);
      }
      print(mutation_names[kind], tally);
      CHECK(tally.made > 0 && tally.killed * 100 >= tally.made * least_percent[kind]);
      all = add(all, tally);
    }
  }
  print("all", all);
  for (int i = 0; i < EXAMPLES; i++)
    build_free(&builder[i]);
  CHECK_DONE();
}
