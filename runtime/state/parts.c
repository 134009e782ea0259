/* parts.c -- which bytes of a row each rank writes, and so where an element is stored. */
#include <stdlib.h>

#include "runtime/state/rows.h"

static int64_t least(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b) {
  return a > b ? a : b;
}

static int32_t extent(const Plan *plan, const PlanClass *class, uint32_t axis) {
  const PlanBound *bound = &plan->bounds[class->bounds_first + axis];
  return (int32_t)(bound->end - bound->first);
}

static const PlanBound *bound_of(const State *state, const StateRow *row, uint32_t axis) {
  return &state->plan->bounds[state->plan->classes[row->class].bounds_first + axis];
}

/* A member of `axes` as coordinates, and back. */
static void set_member(const State *state, const StateRow *row, uint32_t axes, int32_t member,
                       int32_t *coordinate) {
  const PlanClass *class = &state->plan->classes[row->class];
  for (uint32_t i = state->plan->axes_count; i-- > 0;) {
    if ((axes >> i & 1u) == 0) continue;
    int32_t size = extent(state->plan, class, i);
    coordinate[i] = (int32_t)bound_of(state, row, i)->first + member % size;
    member /= size;
  }
}

static int32_t member_of(const State *state, const StateRow *row, uint32_t axes,
                         const int32_t *coordinate) {
  const PlanClass *class = &state->plan->classes[row->class];
  int32_t member = 0;
  for (uint32_t i = 0; i < state->plan->axes_count; i++)
    if ((axes >> i & 1u) != 0)
      member = member * extent(state->plan, class, i) + coordinate[i] -
               (int32_t)bound_of(state, row, i)->first;
  return member;
}

static void set_rank(const State *state, const StateRow *row, int32_t group, int32_t replica,
                     int32_t coordinate[PLAN_AXES_MAX]) {
  for (uint32_t i = 0; i < state->plan->axes_count; i++)
    coordinate[i] = (int32_t)bound_of(state, row, i)->first;
  set_member(state, row, row->axes, group, coordinate);
  set_member(state, row, row->replica_axes, replica, coordinate);
}

static int32_t number_of(const Plan *plan, const int32_t *coordinate) {
  int32_t number = 0;
  for (uint32_t i = 0; i < plan->axes_count; i++)
    number = number * (int32_t)plan->axes[i].size + coordinate[i];
  return number;
}

static StatePiece piece_of(const State *state, const StateItem *item, const int32_t *coordinate) {
  StatePiece piece = {0};
  (void)state_piece(state->plan, state_tensor(state, item)->layout, coordinate, &piece);
  return piece;
}

/* The bytes of the row before each of its items. NULL: no memory. */
static const int64_t *bytes_before(const State *state, const StateRow *row, int32_t group) {
  if (row->before[group] != NULL) return row->before[group];
  int64_t *before = calloc((size_t)row->item_count + 1, sizeof *before);
  int32_t coordinate[PLAN_AXES_MAX];
  if (before == NULL) return NULL;
  set_rank(state, row, group, 0, coordinate);
  for (uint32_t i = 0; i < row->item_count; i++) {
    StatePiece piece = piece_of(state, &state->item[row->item_first + i], coordinate);
    before[i + 1] = before[i] + piece.range_count * row->width;
  }
  row->before[group] = before;
  return before;
}

/* ---- runs */

static int32_t run_count(const State *state, const StateRow *row, int64_t row_bytes) {
  return (int32_t)least(row->replicas, (row_bytes + state->part_bytes - 1) / state->part_bytes);
}

static int64_t run_first(int64_t row_bytes, int32_t runs, int32_t run) {
  if (run >= runs) return row_bytes;
  return row_bytes * run / runs / STATE_RUN_BYTES * STATE_RUN_BYTES;
}

static int32_t run_replica(const StateRow *row, int32_t runs, int32_t run) {
  return (int32_t)((int64_t)run * row->replicas / runs);
}

/* The run that a replica writes, or -1. */
static int32_t run_of_replica(const StateRow *row, int32_t runs, int32_t replica) {
  if (runs == 0) return -1;
  int32_t run = (int32_t)(((int64_t)replica * runs + row->replicas - 1) / row->replicas);
  return run < runs && run_replica(row, runs, run) == replica ? run : -1;
}

/* The bytes of a row that a rank writes. */
typedef struct RowRun {
  const int64_t *before;
  int64_t first, end;
} RowRun;

/* False: no memory. */
static bool find_run(const State *state, const StateRow *row, const int32_t *coordinate,
                     RowRun *run) {
  *run = (RowRun){.before = bytes_before(state, row, member_of(state, row, row->axes, coordinate))};
  if (run->before == NULL) return false;
  int64_t bytes = run->before[row->item_count];
  int32_t runs = run_count(state, row, bytes);
  int32_t number = run_of_replica(row, runs, member_of(state, row, row->replica_axes, coordinate));
  if (number < 0) return true;
  run->first = run_first(bytes, runs, number);
  run->end = run_first(bytes, runs, number + 1);
  return true;
}

static bool is_in_class(const State *state, const StateRow *row, const int32_t *coordinate) {
  for (uint32_t i = 0; i < state->plan->axes_count; i++) {
    const PlanBound *bound = bound_of(state, row, i);
    if (coordinate[i] < (int32_t)bound->first || coordinate[i] >= (int32_t)bound->end) return false;
  }
  return true;
}

/* Bytes [first, end) of the row, which lie in its item `index`, as stored from `data_first` on. */
static StateStored stored_of(const State *state, const StateRow *row, uint32_t index,
                             const StatePiece *piece, const RowRun *run) {
  const StateItem *item = &state->item[row->item_first + index];
  int64_t item_first = run->before[index];
  int64_t first = most(item_first, run->first), end = least(run->before[index + 1], run->end);
  return (StateStored){.item = item,
                       .piece = state_piece_dense(piece, (first - item_first) / row->width,
                                                  (end - first) / row->width),
                       .data_first = (uint64_t)(first - run->first),
                       .size_bytes = (uint64_t)(end - first)};
}

bool state_part_each(const State *state, int32_t number, StateVisit *visit, void *context) {
  int32_t coordinate[PLAN_AXES_MAX];
  uint64_t data_first = 0;
  state_coordinates(state->plan, number, coordinate);
  for (uint32_t r = 0; r < state->row_count; r++) {
    const StateRow *row = &state->row[r];
    RowRun run;
    if (!is_in_class(state, row, coordinate)) continue;
    if (!find_run(state, row, coordinate, &run)) return false;
    for (uint32_t i = 0; i < row->item_count && run.before[i] < run.end; i++) {
      if (run.before[i + 1] <= run.first || run.before[i + 1] == run.before[i]) continue;
      StatePiece piece = piece_of(state, &state->item[row->item_first + i], coordinate);
      StateStored stored = stored_of(state, row, i, &piece, &run);
      stored.number = number;
      stored.data_first += data_first;
      if (!visit(context, &stored)) return false;
    }
    data_first += (uint64_t)(run.end - run.first);
  }
  return true;
}

/* The bytes of a part before its run of the row `until`. -1: no memory. */
static int64_t data_before(const State *state, const int32_t *coordinate, uint32_t until) {
  int64_t bytes = 0;
  for (uint32_t r = 0; r < until; r++) {
    RowRun run;
    if (!is_in_class(state, &state->row[r], coordinate)) continue;
    if (!find_run(state, &state->row[r], coordinate, &run)) return -1;
    bytes += run.end - run.first;
  }
  return bytes;
}

int64_t state_part_data(const State *state, int32_t number) {
  int32_t coordinate[PLAN_AXES_MAX];
  state_coordinates(state->plan, number, coordinate);
  return data_before(state, coordinate, state->row_count);
}

/* ---- from an element to where it is stored */

static bool stop(void *context, int64_t from, int64_t to, int64_t count) {
  (void)context, (void)from, (void)to, (void)count;
  return false;
}

static bool have_common(const StatePiece *a, const StatePiece *b) {
  return !state_common(a, b, stop, NULL);
}

typedef struct Finding {
  const State *state;
  const StatePiece *want;
  StateVisit *visit;
  void *context;
} Finding;

/* Visits the part of one group's piece that each of its writers has stored. */
static bool visit_group(const Finding *finding, const StateItem *item, int32_t group,
                        const StatePiece *piece) {
  const State *state = finding->state;
  const StateRow *row = &state->row[item->row];
  uint32_t index = (uint32_t)(item - &state->item[row->item_first]);
  const int64_t *before = bytes_before(state, row, group);
  if (before == NULL) return false;
  int64_t bytes = before[row->item_count];
  int32_t runs = run_count(state, row, bytes);
  for (int32_t i = 0; i < runs; i++) {
    RowRun run = {before, run_first(bytes, runs, i), run_first(bytes, runs, i + 1)};
    int32_t coordinate[PLAN_AXES_MAX];
    if (run.end <= before[index] || run.first >= before[index + 1]) continue;
    StateStored stored = stored_of(state, row, index, piece, &run);
    if (!have_common(&stored.piece, finding->want)) continue;
    set_rank(state, row, group, run_replica(row, runs, i), coordinate);
    int64_t data_first = data_before(state, coordinate, item->row);
    if (data_first < 0) return false;
    stored.number = number_of(state->plan, coordinate);
    stored.data_first += (uint64_t)data_first;
    if (!finding->visit(finding->context, &stored)) return false;
  }
  return true;
}

bool state_sources(const State *state, uint32_t index, const StatePiece *want, StateVisit *visit,
                   void *context) {
  const StateItem *item = &state->item[index];
  const StateRow *row = &state->row[item->row];
  Finding finding = {state, want, visit, context};
  for (int32_t group = 0; group < row->groups; group++) {
    int32_t coordinate[PLAN_AXES_MAX];
    set_rank(state, row, group, 0, coordinate);
    StatePiece piece = piece_of(state, item, coordinate);
    if (have_common(&piece, want) && !visit_group(&finding, item, group, &piece)) return false;
  }
  return true;
}
