/* stragglers.c -- a rank's own time is the time of a step minus its waiting for others. */
#include "runtime/observe/stragglers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/plan/plan_job.h"
#include "runtime/process/plural.h"

enum { LINE_BYTES = 160, GATHERED_BYTES_MAX = 64 << 20 };

bool stragglers_open(Stragglers *s, const Plan *plan, const Mesh *mesh) {
  size_t ranks = (size_t)mesh->rank_count, records = plan->records_count;
  *s = (Stragglers){.plan = plan, .mesh = mesh, .count = mesh->rank_count};
  s->times = calloc(ranks, sizeof *s->times);
  s->own = calloc(ranks, sizeof *s->own);
  bool is_named = ranks * records * sizeof(int64_t) <= GATHERED_BYTES_MAX;
  if (is_named) s->record_ns = calloc(ranks * records + 1, sizeof *s->record_ns);
  return s->times != NULL && s->own != NULL && (s->record_ns != NULL || !is_named);
}

void stragglers_close(Stragglers *s) {
  free(s->times);
  free(s->own);
  free(s->record_ns);
}

static int64_t steps_of(const Stragglers *s, int32_t rank) {
  return s->times[rank].steps > 0 ? s->times[rank].steps : 1;
}

static int64_t record_ns(const Stragglers *s, int32_t rank, uint32_t record) {
  return s->record_ns[(size_t)rank * s->plan->records_count + record];
}

/* The shortest time that a rank spent in it; ranks of other stages never run it. */
static int64_t shortest_ns(const Stragglers *s, uint32_t record) {
  int64_t shortest = 0;
  for (int32_t rank = 0; rank < s->count; rank++) {
    int64_t ns = record_ns(s, rank, record);
    if (ns > 0 && (shortest == 0 || ns < shortest)) shortest = ns;
  }
  return shortest;
}

/* Without times of records: all exposed communication. */
static void find_waits(Stragglers *s) {
  for (int32_t rank = 0; rank < s->count; rank++)
    s->own[rank] = (RankOwn){.rank = rank};
  for (int32_t rank = 0; s->record_ns == NULL && rank < s->count; rank++)
    s->own[rank].wait_ns = breakdown_exposed_ns(&s->times[rank].sum) + s->times[rank].sum.bubble_ns;
  for (uint32_t i = 0; s->record_ns != NULL && i < s->plan->records_count; i++) {
    if (s->plan->records[i].comm == PLAN_NONE) continue;
    int64_t shortest = shortest_ns(s, i);
    for (int32_t rank = 0; rank < s->count; rank++) {
      int64_t ns = record_ns(s, rank, i);
      if (ns > shortest) s->own[rank].wait_ns += ns - shortest;
    }
  }
}

static int by_own(const void *a, const void *b) {
  const RankOwn *x = a, *y = b;
  if (x->own_ns != y->own_ns) return x->own_ns < y->own_ns ? 1 : -1;
  return (x->rank > y->rank) - (x->rank < y->rank);
}

/* The median over ranks that do the same work: the ranks of its class, or all ranks if its class
 * has no other. `own` is sorted. Of two middle ones the lower. */
static int64_t median_of(const Stragglers *s, int32_t rank) {
  const PlanClass *class = mesh_class(s->mesh, s->plan, rank);
  int32_t like = 0, seen = 0;
  for (int32_t i = 0; i < s->count; i++)
    like += mesh_class(s->mesh, s->plan, i) == class;
  bool takes_all = like < 2;
  int32_t wanted = (takes_all ? s->count : like) / 2;
  for (int32_t i = 0; i < s->count; i++)
    if (takes_all || mesh_class(s->mesh, s->plan, s->own[i].rank) == class)
      if (seen++ == wanted) return s->own[i].own_ns;
  return s->own[s->count - 1].own_ns;
}

void stragglers_judge(Stragglers *s) {
  find_waits(s);
  for (int32_t i = 0; i < s->count; i++) {
    RankOwn *own = &s->own[i];
    own->wait_ns /= steps_of(s, i);
    own->own_ns = s->times[i].sum.step_ns / steps_of(s, i) - own->wait_ns;
  }
  qsort(s->own, (size_t)s->count, sizeof *s->own, by_own);
  for (int32_t i = 0; i < s->count; i++) {
    s->own[i].median_ns = median_of(s, s->own[i].rank);
    s->own[i].is_slow = s->own[i].own_ns * 100 > s->own[i].median_ns * (100 + STRAGGLER_PERCENT);
  }
}

/* ---- as text */

typedef struct Teller {
  const Stragglers *s;
  StragglersSay *say;
  void *context;
} Teller;

static void divide(Breakdown *sum, int64_t by) {
  if (by == 0) return;
  sum->step_ns /= by;
  sum->compute_ns /= by;
  sum->bubble_ns /= by;
  sum->offload_ns /= by;
  sum->data_ns /= by;
  for (int32_t axis = 0; axis <= MESH_AXES_MAX; axis++)
    sum->exposed_ns[axis] /= by;
  sum->other_ns = sum->step_ns - sum->compute_ns - sum->bubble_ns - sum->offload_ns - sum->data_ns -
                  breakdown_exposed_ns(sum);
}

static Breakdown mean_of(const Stragglers *s) {
  Breakdown mean = {0};
  int64_t steps = 0;
  for (int32_t rank = 0; rank < s->count; rank++) {
    breakdown_add(&mean, &s->times[rank].sum);
    steps += s->times[rank].steps;
  }
  divide(&mean, steps);
  return mean;
}

/* Mean over ranks; 0 if the plan has no rates for its device. */
static Breakdown predicted_of(const Stragglers *s) {
  Breakdown mean = {0};
  for (int32_t rank = 0; rank < s->count; rank++)
    breakdown_add(&mean, &s->times[rank].predicted);
  divide(&mean, s->count);
  return mean;
}

/* Parts of the measured step, and of the predicted one. */
typedef struct Beside {
  const Teller *t;
  Breakdown mean, predicted;
} Beside;

static void tell_part(const Beside *b, const char *name, int64_t ns, int64_t predicted_ns) {
  char line[LINE_BYTES], beside[32] = "";
  int64_t step_ns = b->mean.step_ns;
  if (b->predicted.step_ns > 0)
    (void)snprintf(beside, sizeof beside, "%12.3f ms", (double)predicted_ns / 1e6);
  (void)snprintf(line, sizeof line, "         %-16.16s %12.3f ms %6.1f %%%s", name,
                 (double)ns / 1e6, step_ns > 0 ? 100.0 * (double)ns / (double)step_ns : 0.0,
                 beside);
  b->t->say(b->t->context, line);
}

static void tell_axes(const Beside *b) {
  const Plan *plan = b->t->s->plan;
  const Breakdown *mean = &b->mean, *predicted = &b->predicted;
  for (uint32_t axis = 0; axis < plan->axes_count; axis++) {
    char name[32];
    if (plan->axes[axis].size == 1) continue;
    (void)snprintf(name, sizeof name, "exposed %.8s", plan_string(plan, plan->axes[axis].name));
    tell_part(b, name, mean->exposed_ns[axis], predicted->exposed_ns[axis]);
    if (plan->axes[axis].divides == DIVIDES_DEPTH)
      tell_part(b, "bubble", mean->bubble_ns, predicted->bubble_ns);
  }
  int64_t several_ns = mean->exposed_ns[MESH_AXES_MAX];
  int64_t predicted_ns = predicted->exposed_ns[MESH_AXES_MAX];
  if (several_ns > 0 || predicted_ns > 0) tell_part(b, "exposed several", several_ns, predicted_ns);
}

static void tell_breakdown(const Teller *t) {
  Beside b = {t, mean_of(t->s), predicted_of(t->s)};
  const Plan *plan = t->s->plan;
  bool has_rates = b.predicted.step_ns > 0;
  char line[LINE_BYTES];
  (void)snprintf(line, sizeof line, "step     mean of %d rank%s and %lld step%s%s", t->s->count,
                 plural(t->s->count), (long long)t->s->times[0].steps, plural(t->s->times[0].steps),
                 has_rates ? "                predicted" : "");
  t->say(t->context, line);
  tell_part(&b, "compute", b.mean.compute_ns, b.predicted.compute_ns);
  tell_axes(&b);
  if (breakdown_has_offload(plan))
    tell_part(&b, "offload", b.mean.offload_ns, b.predicted.offload_ns);
  tell_part(&b, "data", b.mean.data_ns, b.predicted.data_ns);
  tell_part(&b, "other", b.mean.other_ns, b.predicted.other_ns);
  tell_part(&b, "step", b.mean.step_ns, b.predicted.step_ns);
  if (has_rates) return;
  (void)snprintf(line, sizeof line, "         nothing is predicted: the plan has no rates of %.24s",
                 job_device(plan));
  t->say(t->context, line);
}

/* The kernel in which it lost most against the rank whose own time is the shortest. */
static uint32_t slow_kernel(const Stragglers *s, const RankOwn *own, int64_t *lost_ns) {
  int32_t best = s->own[s->count - 1].rank;
  uint32_t found = PLAN_NONE;
  *lost_ns = 0;
  for (uint32_t i = 0; s->record_ns != NULL && i < s->plan->records_count; i++) {
    if (s->plan->records[i].comm != PLAN_NONE) continue;
    int64_t ns = record_ns(s, own->rank, i) / steps_of(s, own->rank) -
                 record_ns(s, best, i) / steps_of(s, best);
    if (ns <= *lost_ns) continue;
    *lost_ns = ns;
    found = i;
  }
  return found;
}

/* The communication in which the others waited longest. */
static uint32_t slow_meeting(const Stragglers *s, int64_t *wait_ns) {
  uint32_t found = PLAN_NONE;
  *wait_ns = 0;
  for (uint32_t i = 0; s->record_ns != NULL && i < s->plan->records_count; i++) {
    if (s->plan->records[i].comm == PLAN_NONE) continue;
    int64_t shortest = shortest_ns(s, i), most = 0;
    for (int32_t rank = 0; rank < s->count; rank++)
      if (record_ns(s, rank, i) - shortest > most) most = record_ns(s, rank, i) - shortest;
    if (most <= *wait_ns) continue;
    *wait_ns = most;
    found = i;
  }
  *wait_ns /= steps_of(s, 0);
  return found;
}

static void tell_slow(const Teller *t, const RankOwn *own) {
  const Stragglers *s = t->s;
  char line[LINE_BYTES];
  int64_t kernel_ns, wait_ns, above_ns = own->own_ns - own->median_ns;
  uint32_t kernel = slow_kernel(s, own, &kernel_ns), meeting = slow_meeting(s, &wait_ns);
  (void)snprintf(line, sizeof line, "slow     rank %d on %.24s: its own time is %.2f x the median",
                 own->rank, s->times[own->rank].node,
                 (double)own->own_ns / (double)(own->median_ns > 0 ? own->median_ns : 1));
  t->say(t->context, line);
  bool in_kernel = kernel != PLAN_NONE && kernel_ns * 10 > above_ns;
  if (in_kernel)
    (void)snprintf(line, sizeof line, "         lost most in %.32s: %.3f ms a step",
                   plan_string(s->plan, s->plan->records[kernel].path), (double)kernel_ns / 1e6);
  else
    (void)snprintf(line, sizeof line,
                   "         lost between records: the host or its data is late");
  t->say(t->context, line);
  if (meeting == PLAN_NONE) return;
  (void)snprintf(line, sizeof line, "         waited for in %.32s over %.8s: %.3f ms a step",
                 plan_string(s->plan, s->plan->records[meeting].path),
                 plan_string(s->plan, s->plan->comms[s->plan->records[meeting].comm].name),
                 (double)wait_ns / 1e6);
  t->say(t->context, line);
}

static void tell_ranks(const Teller *t) {
  const Stragglers *s = t->s;
  char line[LINE_BYTES];
  (void)snprintf(line, sizeof line, "ranks       own time    compute   waits for others   node");
  t->say(t->context, line);
  for (int32_t i = 0; i < s->count && i < STRAGGLERS_SHOWN; i++) {
    const RankOwn *own = &s->own[i];
    const RankTimes *times = &s->times[own->rank];
    (void)snprintf(line, sizeof line, "%8d %8.3f ms %7.3f ms %15.3f ms   %.24s", own->rank,
                   (double)own->own_ns / 1e6,
                   (double)times->sum.compute_ns / (double)steps_of(s, own->rank) / 1e6,
                   (double)own->wait_ns / 1e6, times->node);
    t->say(t->context, line);
  }
  if (s->count <= STRAGGLERS_SHOWN) return;
  (void)snprintf(line, sizeof line, "         and %d faster one%s: summary.json",
                 s->count - STRAGGLERS_SHOWN, plural(s->count - STRAGGLERS_SHOWN));
  t->say(t->context, line);
}

void stragglers_tell(const Stragglers *s, StragglersSay *say, void *context) {
  Teller teller = {s, say, context};
  tell_breakdown(&teller);
  if (s->count < 2) return;
  tell_ranks(&teller);
  if (!s->own[0].is_slow) {
    char line[LINE_BYTES];
    (void)snprintf(line, sizeof line, "slow     none: no own time is %d %% above the median",
                   STRAGGLER_PERCENT);
    say(context, line);
  }
  for (int32_t i = 0; i < s->count && i < STRAGGLERS_SHOWN && s->own[i].is_slow; i++)
    tell_slow(&teller, &s->own[i]);
}

/* ---- as JSON */

static void add_ms(Text *text, const char *name, int64_t ns) {
  text_add(text, ",\"%s\":%.6f", name, (double)ns / 1e6);
}

static void add_parts(const Stragglers *s, const Breakdown *mean, Text *text) {
  const char *comma = "";
  add_ms(text, "step_ms", mean->step_ns);
  add_ms(text, "compute_ms", mean->compute_ns);
  text_add(text, ",\"exposed_ms\":{");
  for (uint32_t axis = 0; axis < s->plan->axes_count; axis++) {
    if (s->plan->axes[axis].size == 1) continue;
    text_add(text, "%s\"%s\":%.6f", comma, plan_string(s->plan, s->plan->axes[axis].name),
             (double)mean->exposed_ns[axis] / 1e6);
    comma = ",";
  }
  text_add(text, "%s\"several\":%.6f}", comma, (double)mean->exposed_ns[MESH_AXES_MAX] / 1e6);
  add_ms(text, "bubble_ms", mean->bubble_ns);
  if (breakdown_has_offload(s->plan)) add_ms(text, "offload_ms", mean->offload_ns);
  add_ms(text, "data_wait_ms", mean->data_ns);
  add_ms(text, "other_ms", mean->other_ns);
}

/* The parts of the measured step, then the same of the predicted one. */
static void add_breakdown(const Stragglers *s, Text *text) {
  Breakdown mean = mean_of(s), predicted = predicted_of(s);
  text_add(text, ",\"breakdown\":{\"steps\":%lld", (long long)s->times[0].steps);
  add_parts(s, &mean, text);
  text_add(text, ",\"predicted\":");
  if (predicted.step_ns > 0) {
    text_add(text, "{\"steps\":1");
    add_parts(s, &predicted, text);
    text_add(text, "}");
  } else
    text_add(text, "null");
}

void stragglers_json(const Stragglers *s, Text *text) {
  add_breakdown(s, text);
  text_add(text, "},\"ranks_by_own_time\":[");
  for (int32_t i = 0; i < s->count; i++) {
    const RankOwn *own = &s->own[i];
    text_add(text, "%s{\"rank\":%d,\"node\":", i > 0 ? "," : "", own->rank);
    text_add_json_string(text, s->times[own->rank].node);
    add_ms(text, "own_ms", own->own_ns);
    add_ms(text, "compute_ms", s->times[own->rank].sum.compute_ns / steps_of(s, own->rank));
    add_ms(text, "wait_ms", own->wait_ns);
    text_add(text, ",\"is_slow\":%s}", own->is_slow ? "true" : "false");
  }
  text_add(text, "]");
}
