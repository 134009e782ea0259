/* cover_test.c -- however a job is divided over ranks, training is the same as on one rank.
 *
 * Cases come from a covering array (cover.h): every pair of options meets in one of them. A case is
 * run with all ranks as threads, compared with its job on one rank, and begun a second time with
 * every queue a thread that waits at random before each work: the bits are the same.
 *
 * In f32 only orders of summation differ. Losses and gradient norms (before clipping): 1e-5
 * relative, in every step and of a validation after the last, the same bits on all ranks. Gradients
 * of step 1, each number of each tensor: 1e-4 rms + 1e-8, rms that of its tensor. Parameters after
 * the last step: 1e-4 (rms + lr steps). With AdamW, parameters whose true gradient is zero are left
 * out: rounding is all that moves them.
 *
 * In bf16 activations and parameters have 8 bits of precision, and no two orders of summation
 * agree. Both runs round the same exact numbers equally often, so each is about as far from them,
 * and from the other at most the sum. f32 alone stands for exact: STRAY times its distance to bf16
 * alone, of losses and norms in the worst step, of a gradient tensor as a root of squares. STRAY is
 * two distances, and half as much again since one run is but a sample.
 *
 * Ranks that hold the same number hold the same bits (tensors.h); memory in use is what was
 * planned, on every rank; what is refused is in refused.txt.
 *
 *   parity_cover_test                    the array (a smaller one under sanitizers)
 *   parity_cover_test list               the cases of the array; tests/long/processes runs them
 *   parity_cover_test nightly [SEED]     400 random triples of levels, from another seed each time
 *                                        (cmake --build FOLDER --target nightly)
 *   parity_cover_test queues [PART/PARTS [MS]]
 *                                        every case begun twice, the second time with delays of 0
 *                                        to MS (5) ms; tests/long/run does all parts
 *   parity_cover_test cuda-few           a few cases, as cuda does
 *   parity_cover_test cuda [PART/PARTS]  every case with the kernels for GPUs, run on this
 *                                        processor, against one rank with its own
 *   parity_cover_test case 'dp=2 tp=4'   one case
 *   parity_cover_test cuda-case 'dp=2'   one case, as cuda does
 *   parity_cover_test job 'dp=2 tp=4'    its job file, on standard output */
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "kernels/math/philox.h"
#include "tests/parity/case_job.h"
#include "tests/parity/job_compile.h"
#include "tests/parity/tensors.h"
#include "tests/unit/check.h"
#include "tests/unit/lt_stand_in.h"
#include "tests/unit/nccl_stand_in.h"

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
enum { STRENGTH = 1, RANKS_MAX = 8 };
#else
enum { STRENGTH = 2, RANKS_MAX = 32 };
#endif
enum { REFUSED_MOST = 66 }; /* lower it with the list; only a new level, zb-v, has raised it */
enum {
  STEPS = 4,       /* the later ones do what the second does; large batches pass through all data */
  LONG_STEPS = 20, /* of the random triples: differences add up */
  REPEATED_STEPS = 2,
  DELAY_MOST_NS = 30000,
  QUEUES_STEPS = 2,
  TRIPLES = 400,
  CASES_MAX = 256,
  PATH_BYTES = 128
};
enum { TOKENS = 24 * CASE_CONTEXT * STEPS };

static int64_t steps_of_run = STEPS;

static const double LOSS = 1e-5, GRADIENT = 1e-4, GRADIENT_LEAST = 1e-8, PARAMETER = 1e-4;
static const double STRAY = 3;

#define AS_THREADS(ns) ((FleetQueues){.are_threads = true, .delay_most_ns = (ns)})

static char folder[64];

/* ---- one run */

typedef struct RunOf {
  const Draft *draft;
  int64_t steps;
  bool agrees; /* ranks, among each other */
  Tensors gradients, parameters;
  int32_t rank_count;
  FleetRank rank[FLEET_RANKS_MAX];
} RunOf;

static void look(void *context, const Fleet *fleet, int64_t step) {
  RunOf *run = context;
  run->rank_count = fleet_rank_count(fleet);
  if (step == 1) run->agrees &= tensors_read(&run->gradients, run->draft, fleet, BASE_GRAD);
  if (step == run->steps)
    run->agrees &= tensors_read(&run->parameters, run->draft, fleet, BASE_PARAM);
}

static void run_free(RunOf *run) {
  tensors_free(&run->gradients);
  tensors_free(&run->parameters);
}

static bool same_numbers(const RunOf *run, int32_t r) {
  const FleetRank *rank = &run->rank[r], *first = &run->rank[0];
  for (int64_t step = 1; step <= run->steps; step++) {
    if (rank->loss[step] == first->loss[step] && rank->norm[step] == first->norm[step]) continue;
    printf("  step %lld: rank %d has loss %.17g norm %.17g, rank 0 %.17g %.17g\n", (long long)step,
           r, rank->loss[step], rank->norm[step], first->loss[step], first->norm[step]);
    return false;
  }
  return true;
}

/* Every rank says the same, and needs the memory that was planned for it. */
static bool check_ranks(const RunOf *run) {
  CHECK_INT(run->rank_count, mesh_count(&run->draft->mesh, ~0u));
  for (int32_t r = 0; r < run->rank_count; r++) {
    const FleetRank *rank = &run->rank[r];
    if (!same_numbers(run, r)) return false;
    if (rank->valid_loss != run->rank[0].valid_loss) {
      printf("  rank %d validates %.17g, rank 0 %.17g\n", r, rank->valid_loss,
             run->rank[0].valid_loss);
      return false;
    }
    if (rank->used_bytes == rank->planned_bytes) continue;
    printf("  rank %d uses %llu bytes, %llu are planned\n", r, (unsigned long long)rank->used_bytes,
           (unsigned long long)rank->planned_bytes);
    return false;
  }
  return true;
}

static const char *path_to(char path[PATH_BYTES], const char *name) {
  (void)snprintf(path, PATH_BYTES, "%s/%s", folder, name);
  return path;
}

/* Compiles the case's job file. False: `error` names the first error. */
static bool compile_case(JobCompile *job, const Case *c, CaseJob how, const char **error) {
  char path[PATH_BYTES], plan[PATH_BYTES], tokens[PATH_BYTES], valid[PATH_BYTES];
  how.tokens = path_to(tokens, "tokens.u8");
  how.valid = path_to(valid, "valid.u8");
  how.steps = steps_of_run;
  FILE *file = fopen(path_to(path, "case.lua"), "w");
  if (!file) abort();
  case_write(file, c, &how);
  fclose(file);
  return job_compile(job, path, path_to(plan, "case.plan"), error);
}

static bool run_plan(RunOf *run, const JobCompile *job, int64_t steps, FleetQueues queues) {
  *run = (RunOf){.draft = job->compiled.draft, .steps = steps, .agrees = true};
  bool done = fleet_run(&job->plan, steps, queues, look, run, run->rank);
  return done && check_ranks(run) && run->agrees;
}

static bool run_case(RunOf *run, const Case *c, CaseJob how) {
  JobCompile job;
  const char *error;
  *run = (RunOf){0};
  bool compiled = compile_case(&job, c, how, &error);
  if (!compiled) printf("  refused: %s\n", error);
  bool done = compiled && run_plan(run, &job, steps_of_run, (FleetQueues){0});
  job_compile_close(&job);
  return done;
}

/* ---- comparisons: shares of what is allowed */

typedef struct Shares {
  double loss, norm, gradient, parameter;
  char worst[2][128]; /* the tensors of the last two */
} Shares;

static void raise_to(double *share, double far, double allowed) {
  double part = far == 0 ? 0 : far / allowed;
  if (!(part <= *share)) *share = part; /* a NaN stays */
}

static void note(double *share, double far, double allowed, char worst[128], const char *name) {
  double before = *share;
  raise_to(share, far, allowed);
  if (!(*share <= before)) (void)snprintf(worst, 128, "%s", name);
}

/* A number added to all keys of a query does not change a softmax. */
static bool has_no_gradient(const char *name) {
  return strstr(name, "c_attn.bias") != NULL;
}

static bool same_tensors(const Tensors *got, const Tensors *want) {
  bool same = got->count == want->count && got->count > 0;
  for (int32_t i = 0; same && i < got->count; i++)
    same = strcmp(got->at[i].name, want->at[i].name) == 0 && got->at[i].count == want->at[i].count;
  CHECK(same);
  return same;
}

/* The first step that is out of bounds says more than the worst. */
static void compare_numbers(Shares *shares, const RunOf *got, const RunOf *want) {
  const FleetRank *a = &got->rank[0], *b = &want->rank[0];
  for (int64_t step = 1; step <= got->steps; step++) {
    bool was_good = shares->loss <= 1 && shares->norm <= 1;
    raise_to(&shares->loss, fabs(a->loss[step] / b->loss[step] - 1), LOSS);
    raise_to(&shares->norm, fabs(a->norm[step] / b->norm[step] - 1), LOSS);
    if (was_good && !(shares->loss <= 1 && shares->norm <= 1))
      printf("  step %lld: loss %.9g, want %.9g; norm %.9g, want %.9g\n", (long long)step,
             a->loss[step], b->loss[step], a->norm[step], b->norm[step]);
  }
}

static void compare_valid(Shares *shares, const RunOf *got, const RunOf *want, const Case *c) {
  double a = got->rank[0].valid_loss, b = want->rank[0].valid_loss;
  CHECK((a > 0 && b > 0) == case_is(c, FACTOR_VALID, "on"));
  if (!(fabs(a - b) <= LOSS * b)) printf("  validation %.9g, want %.9g\n", a, b);
  raise_to(&shares->loss, fabs(a - b), LOSS * b);
}

static void compare_f32(Shares *shares, const RunOf *got, const RunOf *want, const Case *c) {
  bool sgd = case_is(c, FACTOR_OPTIMIZER, "sgd");
  compare_numbers(shares, got, want);
  compare_valid(shares, got, want, c);
  if (!same_tensors(&got->gradients, &want->gradients)) return;
  if (!same_tensors(&got->parameters, &want->parameters)) return;
  for (int32_t i = 0; i < want->gradients.count; i++) {
    const Tensor *g = &want->gradients.at[i], *p = &want->parameters.at[i];
    note(&shares->gradient, tensor_farthest(&got->gradients.at[i], g),
         GRADIENT * tensor_rms(g) + GRADIENT_LEAST, shares->worst[0], g->name);
    if (sgd || !has_no_gradient(p->name))
      note(&shares->parameter, tensor_farthest(&got->parameters.at[i], p),
           PARAMETER * (tensor_rms(p) + case_lr(c) * (double)steps_of_run), shares->worst[1],
           p->name);
  }
}

static double farthest_step(const double *a, const double *b, int64_t steps) {
  double far = 0;
  for (int64_t step = 1; step <= steps; step++)
    far = fmax(far, fabs(a[step] / b[step] - 1));
  return far;
}

static void compare_bf16(Shares *shares, const RunOf *got, const RunOf *alone, const RunOf *exact) {
  const FleetRank *a = &got->rank[0], *b = &alone->rank[0], *e = &exact->rank[0];
  raise_to(&shares->loss, farthest_step(a->loss, b->loss, got->steps),
           STRAY * farthest_step(b->loss, e->loss, got->steps));
  raise_to(&shares->norm, farthest_step(a->norm, b->norm, got->steps),
           STRAY * farthest_step(b->norm, e->norm, got->steps));
  if (!same_tensors(&got->gradients, &alone->gradients)) return;
  for (int32_t i = 0; i < alone->gradients.count; i++) {
    const Tensor *g = &alone->gradients.at[i];
    note(&shares->gradient, tensor_distance(&got->gradients.at[i], g),
         STRAY * tensor_distance(g, &exact->gradients.at[i]), shares->worst[0], g->name);
  }
}

/* ---- repetition */

static void check_same_values(const Tensors *again, const Tensors *first) {
  if (!same_tensors(again, first)) return;
  for (int32_t i = 0; i < first->count; i++)
    CHECK(memcmp(again->at[i].values, first->at[i].values,
                 (size_t)first->at[i].count * sizeof(float)) == 0);
}

static void check_same_bits(const RunOf *again, const RunOf *first) {
  for (int64_t step = 1; step <= again->steps; step++) {
    CHECK(again->rank[0].loss[step] == first->rank[0].loss[step]);
    CHECK(again->rank[0].norm[step] == first->rank[0].norm[step]);
  }
  check_same_values(&again->gradients, &first->gradients);
}

/* The case and its beginning once more, by queues that are threads. */
static bool run_twice(RunOf *run, const Case *c, CaseJob how) {
  static RunOf again;
  JobCompile job;
  const char *error;
  *run = (RunOf){0};
  bool compiled = compile_case(&job, c, how, &error);
  if (!compiled) printf("  refused: %s\n", error);
  bool done = compiled && run_plan(run, &job, steps_of_run, (FleetQueues){0});
  bool repeated = done && run_plan(&again, &job, REPEATED_STEPS, AS_THREADS(DELAY_MOST_NS));
  if (repeated) check_same_bits(&again, run);
  if (done) run_free(&again);
  job_compile_close(&job);
  return repeated;
}

/* ---- cases */

static void tell(const char *text, const Shares *shares, bool done) {
  bool good = done && shares->loss <= 1 && shares->norm <= 1 && shares->gradient <= 1 &&
              shares->parameter <= 1;
  CHECK(good);
  printf("%s loss %.3f norm %.3f grad %.3f (%s) param %.3f (%s)  %s\n", good ? "ok  " : "FAIL",
         shares->loss, shares->norm, shares->gradient, shares->worst[0], shares->parameter,
         shares->worst[1], text);
  fflush(stdout);
}

static void check_f32(const Case *c) {
  static RunOf got, want;
  char text[CASE_TEXT_BYTES];
  case_print(c, text);
  Shares shares = {0};
  bool done = run_twice(&got, c, (CaseJob){0}) && run_case(&want, c, (CaseJob){.alone = true});
  if (done) compare_f32(&shares, &got, &want, c);
  tell(text, &shares, done);
  run_free(&got);
  run_free(&want);
}

/* In bf16, and with one more rounding of a gradient: it travels in bf16, too. */
static void check_bf16(const Case *c) {
  static RunOf got, alone, exact;
  char text[CASE_TEXT_BYTES];
  case_print(c, text);
  bool done = run_case(&alone, c, (CaseJob){.alone = true, .is_bf16 = true}) &&
              run_case(&exact, c, (CaseJob){.alone = true});
  for (int32_t wire = 0; wire < 2; wire++) {
    Shares shares = {0};
    got = (RunOf){0};
    bool ran = done && run_twice(&got, c, (CaseJob){.is_bf16 = true, .bf16_wire = wire == 1});
    if (ran) compare_bf16(&shares, &got, &alone, &exact);
    printf("%s: ", wire == 1 ? "bf16, gradients too" : "bf16");
    tell(text, &shares, ran);
    run_free(&got);
  }
  run_free(&alone);
  run_free(&exact);
}

/* The comparison would see a mistake: a learning rate one percent off moves parameters out of
 * bounds. */
static void check_sight(void) {
  static RunOf got, want;
  Case c;
  Shares shares = {0};
  if (!case_parse(&c, "model=gpt2 layers=4")) return;
  bool done = run_case(&got, &c, (CaseJob){.lr = 1.01 * case_lr(&c)}) &&
              run_case(&want, &c, (CaseJob){.alone = true});
  CHECK(done);
  if (done) compare_f32(&shares, &got, &want, &c);
  CHECK(shares.parameter > 1 && shares.loss > 1);
  printf("  and so it should be: that learning rate was one percent off\n");
  run_free(&got);
  run_free(&want);
}

static void check_refused(Cover *cover) {
  CHECK(cover->rule_count <= REFUSED_MOST);
  for (int32_t i = 0; i < cover->rule_count; i++) {
    const Rule *rule = &cover->rules[i];
    Case c;
    memset(&c, -1, sizeof c);
    char text[CASE_TEXT_BYTES];
    bool made = cover_complete(cover, &c, rule);
    if (!made) printf("refused.txt:%d: other lines say it too\n", rule->line);
    CHECK(made);
    if (!made) continue;
    JobCompile job;
    const char *error;
    bool compiled = compile_case(&job, &c, (CaseJob){0}, &error);
    case_print(&c, text);
    if (compiled) printf("refused.txt:%d: compiles now, take it away: %s\n", rule->line, text);
    CHECK(!compiled);
    if (!compiled && strcmp(error, rule->error) != 0) {
      printf("refused.txt:%d: it is %s: %s\n", rule->line, error, text);
      CHECK_TEXT(error, rule->error);
    }
    job_compile_close(&job);
  }
}

static void check_listed(const char *const *list, size_t count, void check(const Case *)) {
  for (size_t i = 0; i < count; i++) {
    Case c;
    bool good = case_parse(&c, list[i]);
    CHECK(good);
    if (good && case_ranks(&c) <= RANKS_MAX) check(&c);
  }
}

static const char *const bf16_cases[] = {
    "model=gpt2 dp=2 zero=1 m=2 micro=2 dropout=on",
    "model=llama dp=2 tp=2 zero=2 kv=1 m=2 micro=2",
    "model=tied pp=2 tp=2 pipeline=1f1b m=3 micro=2 optimizer=adamw",
    "model=gpt2 dp=2 cp=ring zero=all m=2 micro=2 recompute=block",
    "model=llama dp=2 cp=ulysses pp=2 zero=3 m=4 micro=2 pipeline=zb-h1",
    "model=gpt2 dp=4 tp=2 pp=2 zero=hybrid3 m=4 micro=1 pipeline=interleaved sequence=off",
    "model=llama dp=4 zero=hybrid1 m=2 micro=2",
    "model=gpt2 dp=4 zero=hybrid2 m=3 micro=2",
};

static void check_array(Cover *cover) {
  static Case cases[CASES_MAX];
  int32_t count = cover_make(cover, STRENGTH, cases, CASES_MAX);
  printf("%d cases\n", count);
  CHECK(count > 0 && count < CASES_MAX);
  for (int32_t i = 0; i < count; i++)
    check_f32(&cases[i]);
}

/* Delays that are long beside what works take: queues run into orders that are rare otherwise. */
static double delay_ms;

static void check_queues(const Case *c) {
  static RunOf first, again;
  char text[CASE_TEXT_BYTES];
  JobCompile job;
  const char *error;
  int before = check_failures;
  case_print(c, text);
  bool done = compile_case(&job, c, (CaseJob){0}, &error);
  CHECK(done);
  if (done) {
    CHECK(run_plan(&first, &job, QUEUES_STEPS, (FleetQueues){0}));
    CHECK(run_plan(&again, &job, QUEUES_STEPS, AS_THREADS((int64_t)(delay_ms * 1e6))));
    check_same_bits(&again, &first);
    check_same_values(&again.parameters, &first.parameters);
    CHECK(again.rank[0].valid_loss == first.rank[0].valid_loss);
    run_free(&first);
    run_free(&again);
  }
  job_compile_close(&job);
  printf("%s %s\n", check_failures == before ? "ok  " : "FAIL", text);
  fflush(stdout);
}

/* `which`: PART/PARTS. */
static void check_part(Cover *cover, const char *which, void check(const Case *)) {
  static Case cases[CASES_MAX];
  int32_t count = cover_make(cover, STRENGTH, cases, CASES_MAX), part = 1, parts = 1;
  bool good = sscanf(which, "%d/%d", &part, &parts) == 2 && part >= 1 && part <= parts;
  if (!good) printf("'%s' is no PART/PARTS\n", which);
  CHECK(good);
  for (int32_t i = part - 1; good && i < count; i += parts)
    check(&cases[i]);
}

/* As on GPUs, by this processor: their kernels, with the stand-ins of cublasLt below them and of
 * NCCL between the ranks. The kernels sum in other orders, and nothing else may differ; nor may the
 * order in which blocks and threads run, which is drawn anew in each run. */
static void check_cuda(const Case *c) {
  static RunOf got, again, want;
  char text[CASE_TEXT_BYTES];
  JobCompile job;
  const char *error;
  Shares shares = {0};
  int64_t products = lt_stand_in_count();
  got = again = want = (RunOf){0};
  case_print(c, text);
  bool done = compile_case(&job, c, (CaseJob){0}, &error);
  fleet_kernels = lt_stand_in_kernels();
  fleet_nccl = nccl_stand_in();
  done = done && run_plan(&got, &job, steps_of_run, (FleetQueues){0}) &&
         run_plan(&again, &job, QUEUES_STEPS, AS_THREADS(DELAY_MOST_NS));
  fleet_kernels = NULL;
  fleet_nccl = NULL;
  CHECK_INT(nccl_stand_in_open(), 0);
  CHECK(lt_stand_in_count() > products);
  if (done) check_same_bits(&again, &got);
  job_compile_close(&job);
  done = done && run_case(&want, c, (CaseJob){.alone = true});
  if (done) compare_f32(&shares, &got, &want, c);
  tell(text, &shares, done);
  run_free(&got), run_free(&again), run_free(&want);
}

/* For every run of the tests, as all cases take minutes: between them every way to divide a job,
 * and every kernel of the three models. */
static const char *const cuda_cases[] = {
    "model=llama dp=2 tp=2 zero=3 m=2 micro=1",
    "model=gpt2 cp=ring pp=2 dropout=on m=2 micro=2 recompute=block",
    "model=tied cp=ulysses dp=2 zero=1 optimizer=adamw",
    "model=gpt2 pp=4 pipeline=1f1b m=2 micro=1", /* stages exchange at different times */
};

static void check_triples(Cover *cover) {
  for (int32_t i = 0; i < TRIPLES; i++) {
    Case c = cover_triple(cover);
    check_f32(&c);
  }
}

/* ---- data that have something to learn */

static void write_tokens(const char *name, uint64_t seed) {
  char path[PATH_BYTES];
  FILE *file = fopen(path_to(path, name), "wb");
  if (!file) abort();
  uint32_t id = 0, word[4];
  for (int64_t i = 0; i < TOKENS; i++) {
    philox4(seed, 0, (uint64_t)i, word);
    id = word[0] % 5 > 0 ? (5 * id + 3) % CASE_VOCAB : word[1] % CASE_VOCAB;
    fputc((int)id, file);
  }
  fclose(file);
}

static int print_job(const char *text) {
  Case c;
  if (!case_parse(&c, text)) return 1;
  case_write(stdout, &c,
             &(CaseJob){.tokens = "tokens.u8", .valid = "valid.u8", .steps = steps_of_run});
  return 0;
}

static void print_cases(Cover *cover) {
  static Case cases[CASES_MAX];
  char text[CASE_TEXT_BYTES];
  int32_t count = cover_make(cover, STRENGTH, cases, CASES_MAX);
  for (int32_t i = 0; i < count; i++) {
    case_print(&cases[i], text);
    puts(text);
  }
}

static int run_all(const char *what, const char *argument, const char *more) {
  static Cover cover;
  bool nightly = strcmp(what, "nightly") == 0;
  uint64_t seed = !nightly ? 1 : argument ? strtoull(argument, NULL, 10) : (uint64_t)time(NULL);
  if (!cover_open(&cover, PARITY_FOLDER "/refused.txt", RANKS_MAX, seed)) return 1;
  if (strcmp(what, "list") == 0) {
    print_cases(&cover);
  } else if (strcmp(what, "case") == 0) {
    check_listed(&argument, 1, check_f32);
  } else if (strcmp(what, "cuda-case") == 0) {
    check_listed(&argument, 1, check_cuda);
  } else if (strcmp(what, "cuda") == 0) {
    TEST("the kernels for GPUs train as those of this processor do") {
      check_part(&cover, argument ? argument : "1/1", check_cuda);
    }
  } else if (strcmp(what, "cuda-few") == 0) {
    TEST("the kernels for GPUs train as those of this processor do, in a few cases") {
      check_listed(cuda_cases, sizeof cuda_cases / sizeof *cuda_cases, check_cuda);
    }
  } else if (strcmp(what, "queues") == 0) {
    TEST("queues that wait at random train to the same bits") {
      delay_ms = more ? strtod(more, NULL) : 5;
      CHECK(delay_ms > 0);
      check_part(&cover, argument ? argument : "1/1", check_queues);
    }
  } else if (nightly) {
    printf("seed %llu\n", (unsigned long long)seed);
    steps_of_run = LONG_STEPS;
    check_triples(&cover);
  } else {
    TEST("a one percent mistake is seen") {
      check_sight();
    }
    TEST("what is refused is known") {
      check_refused(&cover);
    }
    TEST("every pair of options trains as one rank does") {
      check_array(&cover);
    }
    TEST("bf16 strays no further than bf16 alone, nor when gradients travel in bf16") {
      check_listed(bf16_cases, sizeof bf16_cases / sizeof *bf16_cases, check_bf16);
    }
  }
  cover_close(&cover);
  CHECK_DONE();
}

int main(int count, char **arguments) {
  const char *what = count > 1 ? arguments[1] : "all";
  const char *argument = count > 2 ? arguments[2] : NULL;
  if (strcmp(what, "job") == 0 && argument) return print_job(argument);
  (void)snprintf(folder, sizeof folder, "/tmp/lockstep_cover_%d", (int)getpid());
  char command[96];
  (void)snprintf(command, sizeof command, "mkdir -p %s", folder);
  if (system(command) != 0) return 1;
  write_tokens("tokens.u8", 20);
  write_tokens("valid.u8", 21);
  int failed = run_all(what, argument, count > 3 ? arguments[3] : NULL);
  (void)snprintf(command, sizeof command, "rm -rf %s", folder);
  if (system(command) != 0) return 1;
  return failed;
}
