/* ordering.c -- lanes run side by side: whatever touches the same bytes on two lanes is ordered by
 * edges.
 *
 * Each record knows how far every lane had come, for certain, when it starts: its clock (vector
 * clocks, Mattern 1988). A record that meets bytes which another lane touched after that point, one
 * of the two writing, is a race. An edge from a record that its call leaves out orders nothing.
 * Programs begin and end with all lanes joined.
 *
 * A communicator is touched like bytes: two lanes that used it at once would meet in another order
 * on another rank. */
#include <stdlib.h>
#include <string.h>

#include "compiler/prove/walk.h"
#include "runtime/plan/control.h"
#include "runtime/plan/plan_text.h"

typedef struct Touch {
  uint64_t first, end;
  uint32_t number;           /* of the record in its lane, from 1 */
  uint32_t position, record; /* of the call, and in it */
  bool write;
} Touch;

typedef struct LaneLog {
  Touch *touches; /* in order of number */
  uint32_t count, capacity;
  uint32_t number; /* of the last record */
} LaneLog;

/* What lane `by` may still find unfinished in lane `of`: touches from `begin` on, and their hull.
 */
typedef struct Tail {
  uint32_t begin, seen;
  uint64_t first, end;
} Tail;

typedef struct Ordering {
  const View *view;
  Walk walk_now;
  const Walk *walk; /* walk_now */
  LaneLog lanes[Lane_COUNT];
  Tail tail[Lane_COUNT][Lane_COUNT];      /* [by][of] */
  uint32_t known[Lane_COUNT][Lane_COUNT]; /* [by][of]: of's records that by is ordered after */
  uint32_t *clocks;     /* Lane_COUNT numbers for each record of each call, for two iterations */
  bool *left_out;       /* the same: the record did not run */
  size_t record_count;  /* of all calls */
  size_t *record_first; /* by call position */
  uint8_t *control;     /* by kernel: CONTROL_* */
  bool failed;
} Ordering;

/* Kernels find the control block by themselves, so no operand says that they use it. */
enum { CONTROL_READ = 1, CONTROL_WRITE = 2 };

static size_t clock_index(const Ordering *o, uint32_t position, uint32_t iteration,
                          uint32_t record) {
  return iteration * o->record_count + o->record_first[position] + record;
}

static void join(Ordering *o, uint32_t lane, size_t index) {
  if (o->left_out[index]) return;
  const uint32_t *clock = o->clocks + index * Lane_COUNT;
  for (uint32_t k = 0; k < Lane_COUNT; k++)
    if (clock[k] > o->known[lane][k]) o->known[lane][k] = clock[k];
}

/* Waits hold before the first record of the call on their lane. */
static void join_waits(Ordering *o, uint32_t lane) {
  const Walk *walk = o->walk;
  for (uint32_t i = 0; i < walk->call->waits_count; i++) {
    const PlanWait *wait = &o->view->plan->waits[walk->call->waits_first + i];
    if (wait->lane != lane || wait->iteration_back > walk->iteration) continue;
    bool in_body = walk->loop != NULL && wait->call >= walk->loop->first_call;
    uint32_t iteration = in_body ? walk->iteration - wait->iteration_back : 0;
    size_t index = clock_index(o, wait->call, iteration, wait->record);
    size_t again = clock_index(o, wait->call, 1, wait->record);
    join(o, lane, index);
    if (!in_body) join(o, lane, again); /* an earlier loop: its last iteration */
  }
}

static void join_edges(Ordering *o, const PlanRecord *record) {
  const int32_t after[4] = {record->after0, record->after1, record->after2, record->after3};
  for (int i = 0; i < 4; i++)
    if (after[i] >= 0)
      join(o, record->lane,
           clock_index(o, o->walk->position, o->walk->iteration, (uint32_t)after[i]));
}

/* Brings the tail up to date: what `by` knows to be over leaves it, what is new enters. */
static void update_tail(Ordering *o, uint32_t by, uint32_t of) {
  Tail *tail = &o->tail[by][of];
  const LaneLog *log = &o->lanes[of];
  uint32_t begin = tail->begin;
  while (begin < log->count && log->touches[begin].number <= o->known[by][of])
    begin++;
  if (begin != tail->begin) *tail = (Tail){.begin = begin, .seen = begin, .first = UINT64_MAX};
  for (; tail->seen < log->count; tail->seen++) {
    const Touch *touch = &log->touches[tail->seen];
    if (touch->first < tail->first) tail->first = touch->first;
    if (touch->end > tail->end) tail->end = touch->end;
  }
}

/* Where communicators stand, as if behind every arena. */
static const uint64_t comm_space = UINT64_MAX / 2;

static void check_touch(const Ordering *o, uint32_t record, uint32_t lane, Touch touch) {
  for (uint32_t of = 0; of < Lane_COUNT; of++) {
    const Tail *tail = &o->tail[lane][of];
    const LaneLog *log = &o->lanes[of];
    if (of == lane || touch.end <= tail->first || tail->end <= touch.first) continue;
    for (uint32_t i = tail->begin; i < log->count; i++) {
      const Touch *other = &log->touches[i];
      if (other->end <= touch.first || touch.end <= other->first) continue;
      if (!other->write && !touch.write) continue;
      if (touch.first >= comm_space) {
        prove_finding(o->view, o->walk, record, "ordering",
                      "lane %s uses the same communicator, and nothing orders the two",
                      Lane_names[of]);
        return;
      }
      prove_finding(o->view, o->walk, record, "ordering",
                    "%s bytes [%llu..%llu) that lane %s %s in call %u record %u, and nothing "
                    "orders the two",
                    touch.write ? "writes" : "reads", (unsigned long long)touch.first,
                    (unsigned long long)touch.end, Lane_names[of],
                    other->write ? "writes" : "reads", other->position, other->record);
      return;
    }
  }
}

static void add_touch(Ordering *o, uint32_t lane, Touch touch) {
  LaneLog *log = &o->lanes[lane];
  if (log->count == log->capacity) {
    uint32_t capacity = log->capacity ? 2 * log->capacity : 256;
    Touch *grown = realloc(log->touches, capacity * sizeof *grown);
    if (grown == NULL) {
      o->failed = true;
      return;
    }
    log->touches = grown, log->capacity = capacity;
  }
  log->touches[log->count++] = touch;
}

static void touch_bytes(Ordering *o, uint32_t record, uint32_t lane, uint64_t first, uint64_t end,
                        bool write) {
  if (first == end) return;
  Touch touch = {first, end, o->lanes[lane].number, o->walk->position, record, write};
  check_touch(o, record, lane, touch);
  add_touch(o, lane, touch);
}

static void run_record(Ordering *o, uint32_t index, bool first_on_lane) {
  const View *view = o->view;
  const PlanRecord *record = walk_record(o->walk, index);
  uint32_t lane = record->lane;
  if (first_on_lane) join_waits(o, lane);
  join_edges(o, record);
  for (uint32_t of = 0; of < Lane_COUNT; of++)
    update_tail(o, lane, of);
  uint32_t number = ++o->lanes[lane].number;
  o->known[lane][lane] = number;
  for (uint32_t i = 0; i < record->operands_count; i++) {
    const PlanOperand *operand = &view->plan->operands[record->operands_first + i];
    uint64_t first = walk_base(o->walk, operand->base) + view_operand(view, operand);
    touch_bytes(o, index, lane, first, first + operand->size_bytes, operand->access != ACCESS_READ);
  }
  uint8_t control = record->kind == RECORD_KERNEL ? o->control[record->kernel] : 0;
  uint64_t block = view->plan->jobs[0].control_offset;
  if (control != 0)
    touch_bytes(o, index, lane, block, block + sizeof(Control), control == CONTROL_WRITE);
  if (record_is_communication(record))
    touch_bytes(o, index, lane, comm_space + record->comm, comm_space + record->comm + 1, true);
  size_t at = clock_index(o, o->walk->position, o->walk->iteration, index);
  memcpy(o->clocks + at * Lane_COUNT, o->known[lane], sizeof o->known[lane]);
  o->left_out[at] = false;
}

static void run_program(Ordering *o, const PlanProgram *program) {
  o->walk_now = walk_begin(o->view, program);
  o->walk = &o->walk_now;
  while (walk_next(&o->walk_now)) {
    uint32_t lanes_begun = 0;
    for (uint32_t i = 0; i < o->walk->segment->records_count; i++) {
      const PlanRecord *record = walk_record(o->walk, i);
      if (!walk_runs(o->walk, record)) continue;
      run_record(o, i, (lanes_begun >> record->lane & 1) == 0);
      lanes_begun |= 1u << record->lane;
    }
  }
}

/* Lanes that the running records use; one lane needs no proof. */
static uint32_t used_lanes(const View *view, const PlanProgram *program) {
  uint32_t lanes = 0;
  Walk walk = walk_begin(view, program);
  while (walk_next(&walk))
    for (uint32_t i = 0; i < walk.segment->records_count; i++)
      if (walk_runs(&walk, walk_record(&walk, i))) lanes |= 1u << walk_record(&walk, i)->lane;
  return lanes;
}

static uint8_t control_use(const char *kernel) {
  static const char *const readers[] = {"adamw", "adamw_master", "sgd", "sgd_master"};
  for (size_t i = 0; i < sizeof readers / sizeof *readers; i++)
    if (strcmp(kernel, readers[i]) == 0) return CONTROL_READ;
  return strcmp(kernel, "grad_norm") == 0 ? CONTROL_WRITE : 0;
}

static void prove_program(const View *view, const PlanProgram *program) {
  const Plan *plan = view->plan;
  uint32_t lanes = used_lanes(view, program);
  if ((lanes & (lanes - 1)) == 0) return;
  Ordering o = {.view = view};
  o.record_first = prove_array(view, program->calls_count, sizeof *o.record_first);
  if (o.record_first == NULL) return;
  for (uint32_t i = 0; i < program->calls_count; i++) {
    o.record_first[i] = o.record_count;
    o.record_count += plan->segments[plan->calls[program->calls_first + i].segment].records_count;
  }
  o.clocks = prove_array(view, 2 * o.record_count, sizeof *o.clocks * Lane_COUNT);
  o.left_out = prove_array(view, 2 * o.record_count, sizeof *o.left_out);
  o.control = prove_array(view, plan->kernels_count, sizeof *o.control);
  if (o.clocks != NULL && o.left_out != NULL && o.control != NULL) {
    memset(o.left_out, true, 2 * o.record_count * sizeof *o.left_out);
    for (uint32_t i = 0; i < plan->kernels_count; i++)
      o.control[i] = control_use(plan_string(plan, plan->kernels[i].name));
    for (uint32_t i = 0; i < Lane_COUNT; i++)
      for (uint32_t k = 0; k < Lane_COUNT; k++)
        o.tail[i][k].first = UINT64_MAX;
    run_program(&o, program);
    if (o.failed) prove_finding(view, NULL, -1, "ordering", "out of memory while proving");
  }
  for (uint32_t i = 0; i < Lane_COUNT; i++)
    free(o.lanes[i].touches);
  free(o.record_first), free(o.clocks), free(o.left_out), free(o.control);
}

void prove_ordering(const View *view) {
  for (uint32_t i = 0; i < view->class->programs_count; i++)
    prove_program(view, &view->plan->programs[view->class->programs_first + i]);
}
