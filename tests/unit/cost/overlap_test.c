/* Communication runs beside the computation as far as edges let it: steps take as long as predicted
 * on links that are slow on purpose, results do not change, and no edge is idle.
 * LINK: job_plan cost test_world
 *
 * Times are sleeps of a link: tens of milliseconds where the tiny models compute for one or two.
 * The collectives of tensor parallelism stop the computation and so represent it. What a busy
 * machine adds, it hardly adds to every one of many steps; the shortest counts, and steps are run
 * until one is short enough. */
#include <math.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "compiler/plan/prove/prove.h"
#include "compiler/plan/simulate/simulate.h"
#include "runtime/plan/plan_io.h"
#include "runtime/plan/plan_job.h"
#include "tests/common/world.h"
#include "tests/parity/job_plan.h"
#include "tests/unit/check.h"
#include "tests/unit/plan_builder.h"

enum { RANKS_MAX = 8, STEPS_MAX = 8, VOCAB = 32 };

/* A plan, how it is run, and what came of it. */
typedef struct Trial {
  struct Arena *arena;
  Plan plan;
  int32_t steps;
  bool in_turn;   /* without lanes */
  double byte_ns; /* of links; what messages take is a parameter */
  KernelVariant variant;
  int32_t ranks;
  double step_ms[STEPS_MAX];
  double loss[RANKS_MAX][STEPS_MAX], norm[RANKS_MAX][STEPS_MAX];
} Trial;

/* ---- compile */

static char folder[] = "/tmp/lockstep_overlap.XXXXXX";

/* The small GPT-2 of tests/parity/jobs, with changes. */
static bool open_trial(Trial *t, const JobChanges *changes) {
  char path[80];
  (void)snprintf(path, sizeof path, "%s/plan", folder);
  *t = (Trial){.arena = arena_new()};
  bool done = job_plan("gpt2", changes, path, &t->plan);
  (void)unlink(path);
  CHECK(done);
  return done;
}

static void close_trial(Trial *t) {
  plan_close(&t->plan);
  arena_free(t->arena);
}

/* ---- run */

/* A micro-batch, as it is staged: tokens and targets. */
static void fill(const Plan *plan, int64_t load, uint8_t *staged) {
  for (uint32_t k = 0; k < plan->inputs_count; k++) {
    int32_t *at = (int32_t *)(void *)(staged + samples_input_offset(plan, k));
    int64_t count = plan->inputs[k].sample_elements * job_microbatch_samples(plan);
    for (int64_t i = 0; i < count; i++)
      at[i] = (int32_t)((7 * (i + k) + load) * (i + k + 3) % VOCAB);
  }
}

static double now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* Step 0 is init. */
static bool run_step(Trial *t, WorldRank *rank, int32_t step, uint8_t *samples, Status *status) {
  for (int64_t load = 0; step > 0 && load < job_accumulation(&t->plan); load++)
    fill(&t->plan, (step - 1) * job_accumulation(&t->plan) + load + 1,
         samples + (uint64_t)load * job_sample_bytes(&t->plan));
  if (!world_meet(rank, status)) return false;
  double start = now_ms();
  const PlanProgram *program =
      replay_program(&rank->replay, step == 0 ? PROGRAM_INIT : PROGRAM_TRAIN_STEP);
  const Control in = {.lr = job_lr(&t->plan), .step = step, .seed = job_seed(&t->plan)};
  ReplayLeft left;
  if (!replay_run(&rank->replay, program, &in, samples, &left, status) || !world_meet(rank, status))
    return false;
  if (step == 0) return true;
  if (rank->number == 0) t->step_ms[step - 1] = now_ms() - start;
  t->loss[rank->number][step - 1] = left.control.loss / left.control.count;
  t->norm[rank->number][step - 1] = left.control.grad_norm;
  return true;
}

static bool run_rank(void *context, WorldRank *rank, Status *status) {
  Trial *t = context;
  if (!world_open(rank, status)) return false;
  ReplaySetup setup = {.comm = t->in_turn ? rank->comm : NULL, .kernels = {kernels_of(t->variant)}};
  uint8_t *samples = calloc((size_t)job_accumulation(&t->plan), job_sample_bytes(&t->plan));
  bool done = samples != NULL && world_bind(rank, setup, status);
  for (int32_t step = 0; done && step <= t->steps; step++)
    done = run_step(t, rank, step, samples, status);
  free(samples);
  return done;
}

/* The shortest of `steps` steps, whose losses and norms the trial then has. */
static double run(Trial *t, KernelVariant variant, int32_t steps, bool in_turn, double message_ms) {
  Status status = {0};
  t->steps = steps, t->in_turn = in_turn, t->variant = variant;
  World world = {
      .plan = &t->plan, .delay = {t->byte_ns, message_ms * 1e6}, .body = run_rank, .context = t};
  CHECK(world_run(&world, &status));
  CHECK_TEXT(status.text, "");
  t->ranks = world.mesh.rank_count;
  world_close(&world);
  double least = t->step_ms[0];
  for (int32_t i = 1; i < steps; i++)
    least = fmin(least, t->step_ms[i]);
  return least;
}

/* ---- predict */

/* Whose records have a thread of their own. */
typedef enum Beside { IN_TURN, EACH_LANE, ALL_BUT_COMPUTE } Beside;

static uint32_t thread_of(Beside beside, uint32_t lane) {
  if (beside == IN_TURN) return LANE_COMPUTE;
  return beside == EACH_LANE || lane == LANE_COMPUTE ? lane : LANE_DP;
}

/* A step on links as slow as the trial's, with such messages, and FLOPs that take so long. */
static LaneTimes predict(const Trial *w, Beside beside, double message_ms, double flop_ns) {
  Plan plan = w->plan;
  PlanRecord *records = ARENA_ARRAY(w->arena, PlanRecord, plan.records_count);
  for (uint32_t i = 0; i < plan.records_count; i++) {
    PlanRecord *record = &records[i];
    *record = plan.records[i];
    record->predicted_ns =
        plan_is_communication(record) ? 0 : (int64_t)((double)record->flops * flop_ns);
    record->lane = thread_of(beside, record->lane);
  }
  PlanLink *links = ARENA_ARRAY(w->arena, PlanLink, plan.links_count + 1);
  for (uint32_t i = 0; i < plan.links_count; i++) {
    links[i] = plan.links[i];
    links[i].latency_ns = (int64_t)(message_ms * 1e6);
    links[i].bytes_per_s = w->byte_ns > 0 ? 1e9 / w->byte_ns : 0;
    links[i].pair_bytes_per_s = links[i].bytes_per_s;
  }
  plan.links = links;
  plan.records = records;
  return simulate(w->arena, &plan, PROGRAM_TRAIN_STEP)[0];
}

static double predict_ms(const Trial *w, Beside beside, double message_ms, double flop_ns) {
  return (double)predict(w, beside, message_ms, flop_ns).span_ns / 1e6;
}

/* ---- tests */

#define CHANGES(...) (&(JobChanges){{__VA_ARGS__}})
#define TINY         "model.layers=4", "model.width=16", "model.heads=2", "model.positions=16"
#define RANKS(n)     "cluster=here", ("cluster.devices=" #n)
#define BATCH(n)     "train.microbatch=1", ("train.batch=" #n " sequences")
#define TENSOR       "parallel.tp=2", "parallel.sequence=false"
#define FULL_SHARDS  "parallel.zero=3", "parallel.zero_keep=1KiB"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SLOWNESS = 4 };
#else
enum { SLOWNESS = 1 };
#endif
#ifdef __SANITIZE_THREAD__
enum { CHECKS_THREADS = 1 };
#else
enum { CHECKS_THREADS = 0 };
#endif
enum { MESSAGE_MS = 20 * SLOWNESS, BYTE_NS = 5000 * SLOWNESS, COMPUTE_MS = 30 * SLOWNESS };

/* A plan whose lanes wait for each other is never fast enough, so the limit is for it alone: a
 * machine has a quiet moment sooner. */
static bool may_go_on(double begun_ms) {
  return now_ms() - begun_ms < 120000;
}

/* How much longer than predicted a step without lanes takes: what a busy machine adds. */
static double noise_ms(Trial *w, KernelVariant variant, double message_ms, double want) {
  double added = run(w, variant, 2, true, message_ms) - want;
  printf("this machine is busy: steps take %.1f ms longer\n", added);
  return added > 0 ? 2 * added : 0;
}

typedef struct Timed {
  double got_ms, slack_ms;
  LaneTimes want;
  double margin_ms; /* what one thread for all lanes beside compute takes beyond the bound */
} Timed;

/* Within a tenth of the time that communication shows, and what computing takes. */
static double bound_ms(const Timed *t) {
  return ((double)t->want.span_ns + 0.1 * (double)t->want.exposed_ns) / 1e6 + t->slack_ms;
}

/* Links are slow for each byte where `byte_ns` is given, else for each message. */
static Timed time_step(const char *what, double byte_ns, const JobChanges *changes) {
  Trial w;
  if (!open_trial(&w, changes)) exit(1);
  double message_ms = byte_ns > 0 ? 0 : MESSAGE_MS;
  w.byte_ns = byte_ns;
  Timed t = {INFINITY, COMPUTE_MS, predict(&w, EACH_LANE, message_ms, 0), 0};
  t.margin_ms = predict_ms(&w, ALL_BUT_COMPUTE, message_ms, 0) - bound_ms(&t);
  double want = (double)t.want.span_ns / 1e6, shows = (double)t.want.exposed_ns / 1e6;
  double in_turn = predict_ms(&w, IN_TURN, message_ms, 0);
  const double begun_ms = now_ms();
  while (t.got_ms > bound_ms(&t) && may_go_on(begun_ms))
    t.got_ms = fmin(t.got_ms, run(&w, KERNEL_FAST, 2, false, message_ms));
  printf("%s: %.1f ms, predicted %.1f ms, %.1f of them exposed; in turn %.1f ms\n", what, t.got_ms,
         want, shows, in_turn);
  if (t.got_ms > bound_ms(&t)) t.slack_ms += noise_ms(&w, KERNEL_FAST, message_ms, in_turn);
  CHECK(t.got_ms >= 0.98 * want - 1);
  CHECK(t.got_ms <= bound_ms(&t));
  close_trial(&w);
  return t;
}

static void test_times(void) {
  TEST("reductions of layers run beside the backward of the layers before them") {
    Timed t =
        time_step("replicas", 0, CHANGES(TINY, RANKS(4), BATCH(2), TENSOR, "parallel.zero=0"));
    CHECK(t.want.exposed_ns < t.want.busy_ns[LANE_DP] / 2);
  }
  TEST("gathers of weights run ahead of the layers that need them, if asked") {
    Timed none = time_step(
        "weights gathered when needed", 0,
        CHANGES(TINY, RANKS(4), BATCH(2), TENSOR, FULL_SHARDS, "parallel.zero_prefetch=0"));
    Timed one = time_step(
        "weights gathered one layer ahead", 0,
        CHANGES(TINY, RANKS(4), BATCH(2), TENSOR, FULL_SHARDS, "parallel.zero_prefetch=1"));
    double shorter = (double)(none.want.span_ns - one.want.span_ns) / 1e6;
    CHECK(shorter > 5 * MESSAGE_MS);
    CHECK_NEAR(none.got_ms - one.got_ms, shorter, 0.1 * shorter + none.slack_ms + one.slack_ms);
  }
}

static void test_apart(void) {
  TEST("a pipeline's messages do not wait for the gradients of replicas") {
    Timed t = time_step("a pipeline of replicas", BYTE_NS,
                        CHANGES(TINY, RANKS(4), BATCH(8), "parallel.pp=2", "parallel.zero=0"));
    CHECK(t.want.busy_ns[LANE_DP] > 3 * t.want.busy_ns[LANE_PP]);
    CHECK(t.margin_ms > 2 * COMPUTE_MS);
  }
  TEST("a ring's keys and values do not wait for the gradients of replicas") {
    Timed t = time_step("rings of replicas", 0,
                        CHANGES(TINY, RANKS(4), BATCH(2), "parallel.cp=2", "parallel.zero=0"));
    CHECK(t.margin_ms > 5 * MESSAGE_MS);
  }
}

/* Attention computes for longer than a block of keys and values travels. */
static void test_ring(void) {
  const double message_ms = 4;
  Trial w;
  if (!open_trial(&w, CHANGES("model.positions=1024", "model.heads=2", "model.width=16", RANKS(2),
                              BATCH(1), "parallel.cp=2", "parallel.zero=0")))
    return;
  double alone = INFINITY, got = INFINITY, want = 0, in_turn = 0, slack = 0;
  const double begun_ms = now_ms();
  while (may_go_on(begun_ms)) {
    alone = fmin(alone, run(&w, KERNEL_REFERENCE, 3, false, 0));
    double flop_ns = alone * 1e6 / (double)predict(&w, IN_TURN, 0, 1).span_ns;
    got = fmin(got, run(&w, KERNEL_REFERENCE, 3, false, message_ms));
    want = predict_ms(&w, EACH_LANE, message_ms, flop_ns) - alone;
    in_turn = predict_ms(&w, IN_TURN, message_ms, flop_ns) - alone;
    slack = (in_turn - want) / 4;
    if (got - alone < 1.1 * want + slack) break;
  }
  printf("%-46s %7.1f ms, predicted %7.1f ms, in turn %.1f ms\n", "a ring of two, beyond computing",
         got - alone, want, in_turn);
  CHECK(in_turn > 2 * want);
  if (got - alone >= 1.1 * want + slack)
    slack += noise_ms(&w, KERNEL_REFERENCE, message_ms, in_turn + alone);
  CHECK(got - alone < 1.1 * want + slack);
  close_trial(&w);
}

/* ---- every strategy */

#define EACH(ranks, ...)                                                                           \
  {                                                                                                \
    { TINY, BATCH(8), RANKS(ranks), __VA_ARGS__ }                                                  \
  }

static const JobChanges strategies[] = {
    EACH(2, "parallel.zero=0"),
    EACH(2, "parallel.zero=1", "precision.reduce=bf16"),
    EACH(2, "parallel.zero=2"),
    EACH(2, FULL_SHARDS, "parallel.zero_prefetch=2", "memory.recompute=block"),
    EACH(4, "parallel.zero=2", "parallel.zero_group=2"),
    EACH(4, "parallel.cp=4"),
    EACH(4, "parallel.cp=2", FULL_SHARDS),
    EACH(2, "parallel.pp=2", "parallel.pipeline=zb-h1"),
    EACH(4, "parallel.pp=2", FULL_SHARDS),
    EACH(8, "parallel.pp=2", "parallel.cp=2", "parallel.zero=2"),
    EACH(8, "parallel.pp=2", "parallel.tp=2"),
};

/* The settings in which the strategy differs. */
static const char *strategy_name(Arena *arena, const JobChanges *strategy) {
  const char *name = "";
  for (int i = 0; i < JOB_CHANGES_MAX && strategy->text[i] != NULL; i++)
    if (strncmp(strategy->text[i], "parallel.", 9) == 0)
      name = arena_printf(arena, "%s%s%s", name, *name ? " " : "", strategy->text[i] + 9);
  return name;
}

static void test_results(void) {
  TEST("lanes change when things happen, and nothing else") {
    for (size_t k = 0; k < sizeof strategies / sizeof *strategies; k++) {
      Trial w;
      int32_t steps = 3;
      if (!open_trial(&w, &strategies[k])) continue;
      run(&w, KERNEL_FAST, steps, true, 0);
      const Trial in_turn = w;
      for (int slow = 0; slow < 2; slow++) {
        run(&w, KERNEL_FAST, steps, false, slow ? 0.05 : 0);
        size_t bytes = sizeof w.loss[0][0] * (size_t)steps;
        for (int32_t rank = 0; rank < w.ranks; rank++) {
          CHECK(memcmp(in_turn.loss[rank], w.loss[rank], bytes) == 0);
          CHECK(memcmp(in_turn.norm[rank], w.norm[rank], bytes) == 0);
        }
      }
      CHECK(isfinite(w.loss[0][steps - 1]) && w.loss[0][steps - 1] != w.loss[0][0]);
      close_trial(&w);
    }
  }
}

/* ---- edges */

static bool is_race(const Plan *plan) {
  static ProveReport report;
  bool proven = prove(plan, &report), race = false;
  for (uint32_t i = 0; !proven && i < report.finding_count && i < PROVE_FINDINGS_MAX; i++)
    race |= strstr(report.finding[i], "ordering") != NULL;
  return race;
}

static int32_t check_waits(const Trial *w, PlanWait *waits) {
  Plan plan = w->plan;
  int32_t idle = 0;
  plan.waits = waits;
  PlanLane lanes[PLAN_LANES_MAX];
  uint32_t nowhere = build_idle_lane(&plan, lanes);
  memcpy(waits, w->plan.waits, sizeof *waits * plan.waits_count);
  for (uint32_t i = 0; i < plan.waits_count; i++) {
    waits[i].lane = nowhere;
    idle += !is_race(&plan);
    waits[i] = w->plan.waits[i];
  }
  return idle;
}

static int32_t check_edges(const Trial *w, PlanRecord *records, PlanEdge *edges) {
  Plan plan = w->plan;
  int32_t idle = 0;
  plan.records = records;
  plan.edges = edges;
  memcpy(records, w->plan.records, sizeof *records * plan.records_count);
  memcpy(edges, w->plan.edges, sizeof *edges * plan.edges_count);
  for (uint32_t i = 0; i < plan.records_count; i++) {
    const PlanRecord was = records[i];
    for (uint32_t e = 0; e < was.after_count; e++) { /* the last one takes the place of edge e */
      PlanEdge *edge = &edges[was.after_first + e], left_out = *edge;
      *edge = edges[was.after_first + was.after_count - 1];
      records[i].after_count--;
      idle += !is_race(&plan);
      records[i] = was;
      *edge = left_out;
    }
  }
  return idle;
}

static void test_edges(void) {
  TEST("no edge can be left out, and alone there is none") {
    for (size_t k = 0; k < sizeof strategies / sizeof *strategies; k++) {
      Trial w;
      if (!open_trial(&w, &strategies[k])) continue;
      Arena *arena = w.arena;
      int32_t idle_waits = check_waits(&w, ARENA_ARRAY(arena, PlanWait, w.plan.waits_count + 1));
      int32_t idle_edges = check_edges(&w, ARENA_ARRAY(arena, PlanRecord, w.plan.records_count + 1),
                                       ARENA_ARRAY(arena, PlanEdge, w.plan.edges_count + 1));
      printf("%-60s %4u waits, %d idle; %d idle edges\n", strategy_name(arena, &strategies[k]),
             w.plan.waits_count, idle_waits, idle_edges);
      CHECK_INT(idle_waits, 0);
      CHECK_INT(idle_edges, 0);
      CHECK(w.plan.waits_count > 0);
      close_trial(&w);
    }
    Trial alone;
    if (!open_trial(&alone, CHANGES(TINY, RANKS(2), BATCH(4), "parallel.tp=2"))) return;
    CHECK_INT(alone.plan.waits_count, 0);
    for (uint32_t i = 0; i < alone.plan.records_count; i++)
      CHECK_INT(alone.plan.records[i].lane, LANE_COMPUTE);
    close_trial(&alone);
  }
}

static void test_predictions(void) {
  TEST("iterations that are not walked take as long as those that are") {
    const JobChanges *const jobs[] = {
        CHANGES(TINY, RANKS(4), TENSOR, "parallel.zero=2", BATCH(12)),
        CHANGES(TINY, RANKS(4), TENSOR, "parallel.zero=2", BATCH(14)),
        CHANGES(TINY, RANKS(4), TENSOR, "parallel.zero=2", BATCH(16))};
    double ns[3] = {0};
    for (int i = 0; i < 3; i++) {
      Trial w;
      if (!open_trial(&w, jobs[i])) continue;
      CHECK_INT(w.plan.loops_count, 1);
      LaneTimes times = predict(&w, EACH_LANE, 1, 0.5);
      ns[i] = (double)times.span_ns;
      CHECK(times.exposed_ns > 0 && times.exposed_ns < times.span_ns);
      CHECK_INT(times.span_ns - times.exposed_ns, times.busy_ns[LANE_COMPUTE] + times.apart_ns);
      close_trial(&w);
    }
    CHECK(ns[1] > ns[0]);
    CHECK_NEAR(ns[2] - ns[1], ns[1] - ns[0], 1);
  }
}

int main(void) {
  if (mkdtemp(folder) == NULL) return 1;
  test_predictions();
  if (!CHECKS_THREADS) test_edges(); /* it has none */
  test_results();
  if (!HOSTILE_RUNS_ALONE) { /* it has no lanes */
    test_times();
    test_apart();
    TEST("keys and values travel while attention computes") test_ring();
  }
  (void)rmdir(folder);
  CHECK_DONE();
}
