/* edges.c -- which records must finish before a record of another lane starts: inside a program,
 * in its run before where that may continue (runtime/plan/plan_seam.h), and of a snapshot beside
 * it.
 *
 * Lanes run side by side, each in list order. When two records on different lanes touch the same
 * bytes and one of them writes, the later waits for the earlier: inside a call by `after`, between
 * calls by a wait, which holds for its lane's first record in the call. Buffers have their offsets
 * by then, so reuse of bytes is a dependency like any other.
 *
 * A program is walked once, its loops twice: what the second iteration needs from the first, every
 * iteration needs from the previous one. As in compiler/plan/prove/ordering.c, each lane knows how
 * far every other lane has got (vector clocks, Mattern 1988); a wait for something that is already
 * known is left out. A program that follows itself is walked a second time: what its second run
 * needs from the first, every run needs from the previous one.
 *
 * There is no deadlock. Edges lead back in the list, and a lane keeps list order, so the earliest
 * unfinished record of the list can always run. Across ranks: if every rank ran its whole list one
 * record after another, the step would end. Members of a data or context parallel communicator have
 * the same list, and stages run their exchanges in the order of ticks (pipeline.h). That run puts
 * all communications into one order; each rank's list and each communicator's order are parts of
 * it. With lanes, the earliest communication in this order that is not over waits for nothing: what
 * is before it on its lanes and by edges is earlier. One thread for all lanes beside compute is one
 * lane more. And since matching communications are on one lane everywhere, and lanes keep list
 * order, the k-th call of one member still meets the k-th of the others. */
#include "compiler/draft/edges/edges.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/draft/edges/touches.h"

/* A point in time: the number of a call's visit, counted from 1, and a record of it. 0 is before
 * the program. */
typedef int64_t Mark;
enum { MARK_RECORDS = 1 << 24 }; /* far more than a segment has */

static Mark mark_of(int32_t visit, int32_t record) {
  return (int64_t)visit * MARK_RECORDS + record;
}

/* How the records of a lane use a base in one call. */
typedef struct BufferUse {
  int32_t base;
  Lane lane;
  int64_t first, end;            /* of the bytes that all its accesses cover, within the base */
  int32_t last_read, last_write; /* records; NO_ID */
  int32_t next;                  /* use of the same base; NO_ID */
} BufferUse;

/* A segment as calls with the same flags run it. */
typedef struct LaneProfile {
  uint32_t flags;
  VEC(BufferUse) uses;
  int32_t *first_use;     /* by number_of_base; NO_ID */
  uint32_t lanes;         /* bit per lane that has records */
  Lane order[Lane_COUNT]; /* lanes, in the order of their first records */
  int32_t lane_count;
  int32_t first[Lane_COUNT], last[Lane_COUNT]; /* record of the lane */
  bool *runs;                                  /* by record */
  int32_t (*over)[Lane_COUNT]; /* by record: the last record of each lane that has finished when it
                                  has */
  struct LaneProfile *next;
} LaneProfile;

typedef struct Cell {
  Mark read[Lane_COUNT], write[Lane_COUNT];
} Cell;

/* How far each lane has come, for certain. */
typedef struct EdgeMarks {
  Mark at[Lane_COUNT];
} EdgeMarks;

typedef struct Edges {
  Draft *draft;
  const Stage *stage;
  Program *program;
  LaneProfile **profiles;  /* by segment */
  uint32_t *flags;         /* by segment: the flags that its records depend on */
  const Touches **touches; /* by segment and record */
  /* Bytes that lanes beside compute touch, cut where their uses begin and end. */
  int64_t *bounds;
  Cell *cells;
  int32_t bound_count;
  /* by lane: records known to have finished before its next one starts */
  EdgeMarks known[Lane_COUNT];
  /* By visit. */
  int32_t *call;
  /* for each lane of the call: records that have finished before its first one starts */
  EdgeMarks **starts;
  int32_t visit;
  int32_t seam; /* visits of the first run, in the second; 0: this is the first */
  /* by lane: records known to have finished after the main lane's last call */
  EdgeMarks at_end[Lane_COUNT];
  struct SavedSource *sources; /* of a snapshot: what it copies, by address */
  int32_t source_count;
  bool *is_copied; /* by buffer of the stage: a snapshot copies bytes of it */
} Edges;

/* ---- profiles */

static bool is_one_lane(uint32_t lanes) {
  return (lanes & (lanes - 1)) == 0;
}

/* The bytes of a base are treated as one range, except for scratch, whose parts are used at
 * different times, and control, whose slots are independent. */
static BufferUse *use_of(const Draft *d, const Segment *segment, LaneProfile *profile,
                         BufferUse part) {
  bool apart = part.base < 0 || segment->bases.at[part.base].role == BASE_SCRATCH;
  int32_t *link = &profile->first_use[number_of_base(segment, part.base)];
  while (*link != NO_ID) {
    BufferUse *use = &profile->uses.at[*link];
    bool meets = part.first < use->end && use->first < part.end;
    if (use->lane == part.lane && (meets || !apart)) return use;
    link = &use->next;
  }
  *link = profile->uses.count;
  VEC_PUSH(d->compile->arena, &profile->uses, part);
  return &profile->uses.at[profile->uses.count - 1];
}

static void note_touches(const Draft *d, const Segment *segment, LaneProfile *profile,
                         const Touches *touches, int32_t number) {
  for (int32_t i = 0; i < touches->count; i++) {
    const Touch *touch = &touches->at[i];
    BufferUse part = {.base = touch->base,
                      .lane = segment->records.at[number].lane,
                      .first = touch->first,
                      .end = touch->end,
                      .last_read = NO_ID,
                      .last_write = NO_ID,
                      .next = NO_ID};
    if (part.first == part.end) continue;
    BufferUse *use = use_of(d, segment, profile, part);
    if (part.first < use->first) use->first = part.first;
    if (part.end > use->end) use->end = part.end;
    *(touch->writes ? &use->last_write : &use->last_read) = number;
  }
}

/* Notes what has finished on every lane when a record has: everything known to the record before it
 * on its lane, and what it waited for. */
static void note_order(LaneProfile *profile, const Record *record, int32_t number) {
  int32_t *over = profile->over[number], before = profile->last[record->lane];
  for (int32_t lane = 0; lane < Lane_COUNT; lane++)
    over[lane] = before != NO_ID ? profile->over[before][lane] : NO_ID;
  for (int32_t e = 0; e < record->after.count; e++) {
    int32_t after = record->after.at[e];
    if (!profile->runs[after]) continue; /* a record that does not run orders nothing */
    for (int32_t lane = 0; lane < Lane_COUNT; lane++)
      if (profile->over[after][lane] > over[lane]) over[lane] = profile->over[after][lane];
  }
  over[record->lane] = profile->last[record->lane] = number;
  if (before != NO_ID) return;
  profile->lanes |= 1u << record->lane;
  profile->first[record->lane] = number;
  profile->order[profile->lane_count++] = record->lane;
}

static LaneProfile *make_profile(const Draft *d, const Segment *segment, const Touches *touches,
                                 uint32_t flags) {
  Arena *arena = d->compile->arena;
  LaneProfile *profile = ARENA_NEW(arena, LaneProfile);
  profile->flags = flags;
  profile->over = arena_alloc(arena, sizeof *profile->over * (size_t)(segment->records.count + 1));
  profile->runs = ARENA_ARRAY(arena, bool, segment->records.count + 1);
  profile->first_use = ARENA_ARRAY(arena, int32_t, segment->bases.count + OWN_BASES);
  for (int32_t base = 0; base < segment->bases.count + OWN_BASES; base++)
    profile->first_use[base] = NO_ID;
  for (int32_t lane = 0; lane < Lane_COUNT; lane++)
    profile->last[lane] = NO_ID;
  for (int32_t i = 0; i < segment->records.count; i++) {
    const Record *record = &segment->records.at[i];
    profile->runs[i] = record_runs(record, flags);
    if (!profile->runs[i]) continue;
    note_touches(d, segment, profile, &touches[i], i);
    note_order(profile, record, i);
  }
  return profile;
}

static const LaneProfile *profile_of(Edges *e, const Call *call) {
  uint32_t flags = call->flags & e->flags[call->segment];
  for (LaneProfile *p = e->profiles[call->segment]; p != NULL; p = p->next)
    if (p->flags == flags) return p;
  LaneProfile *made = make_profile(e->draft, &e->draft->segments.at[call->segment],
                                   e->touches[call->segment], flags);
  made->next = e->profiles[call->segment];
  e->profiles[call->segment] = made;
  return made;
}

/* ---- cells */

static int64_t address(const Edges *e, const Call *call, int32_t base) {
  if (base < 0) {
    const Stage *stage = e->stage;
    const Buffer *block =
        &stage->buffers.at[base == CONTROL_BASE ? stage->control_buffer : stage->mirror_buffer];
    return (int64_t)plan_address(block->tier, (uint64_t)block->offset);
  }
  const BufferBinding *binding = &call->bindings[base];
  const Buffer *buffer = &e->stage->buffers.at[binding->buffer];
  return (int64_t)plan_address(buffer->tier, (uint64_t)(buffer->offset + binding->offset_bytes));
}

static int compare_bounds(const void *a, const void *b) {
  const int64_t *x = a, *y = b;
  return (*x > *y) - (*x < *y);
}

static void make_cells(Edges *e) {
  VEC(int64_t) bounds = {0};
  Arena *arena = e->draft->compile->arena;
  for (int32_t i = 0; i < e->program->calls.count; i++) {
    const Call *call = &e->program->calls.at[i];
    const LaneProfile *profile = profile_of(e, call);
    if ((profile->lanes & ~(1u << LANE_COMPUTE)) == 0) continue;
    for (int32_t k = 0; k < profile->uses.count; k++) {
      const BufferUse *use = &profile->uses.at[k];
      if (use->lane == LANE_COMPUTE) continue;
      VEC_PUSH(arena, &bounds, address(e, call, use->base) + use->first);
      VEC_PUSH(arena, &bounds, address(e, call, use->base) + use->end);
    }
  }
  if (bounds.count > 0) qsort(bounds.at, (size_t)bounds.count, sizeof *bounds.at, compare_bounds);
  e->bounds = bounds.at;
  e->bound_count = 0;
  for (int32_t i = 0; i < bounds.count; i++)
    if (i == 0 || bounds.at[i] != bounds.at[e->bound_count - 1])
      bounds.at[e->bound_count++] = bounds.at[i];
  e->cells = ARENA_ARRAY(arena, Cell, e->bound_count + 1);
}

/* The cells [first, end) that an access overlaps; cell i is [bounds[i], bounds[i + 1]). */
static void cells_of(const Edges *e, const Call *call, const BufferUse *use, int32_t *first,
                     int32_t *end) {
  int64_t at = address(e, call, use->base) + use->first;
  int64_t stop = at + use->end - use->first;
  int32_t low = 0, high = e->bound_count;
  while (low < high) { /* the first bound after `at` */
    int32_t middle = (low + high) / 2;
    if (e->bounds[middle] > at)
      high = middle;
    else
      low = middle + 1;
  }
  *first = low > 0 ? low - 1 : 0;
  for (*end = *first; *end + 1 < e->bound_count && e->bounds[*end] < stop;)
    ++*end;
}

/* ---- waits */

static void join(EdgeMarks *into, const EdgeMarks *from) {
  for (int32_t lane = 0; lane < Lane_COUNT; lane++)
    if (from->at[lane] > into->at[lane]) into->at[lane] = from->at[lane];
}

/* How many of the lanes in the mask come before `lane`. */
static int32_t nth_lane(uint32_t lanes, int32_t lane) {
  int32_t n = 0;
  for (int32_t i = 0; i < lane; i++)
    n += (int32_t)(lanes >> i & 1);
  return n;
}

/* Adds everything that has finished when a record of a visited call has. */
static void join_record(const Edges *e, EdgeMarks *into, const LaneProfile *profile, int32_t visit,
                        int32_t record) {
  for (int32_t lane = 0; lane < Lane_COUNT; lane++) {
    int32_t over = profile->over[record][lane];
    if (over < 0) continue;
    join(into, &e->starts[visit][nth_lane(profile->lanes, lane)]);
    Mark mark = mark_of(visit, over);
    if (mark > into->at[lane]) into->at[lane] = mark;
  }
}

static void add_wait(const Edges *e, Call *call, Wait wait) {
  for (int32_t i = 0; i < call->waits.count; i++) {
    const Wait *other = &call->waits.at[i];
    if (other->lane == wait.lane && other->call == wait.call && other->record == wait.record &&
        other->is_back == wait.is_back && other->is_of_snapshot == wait.is_of_snapshot &&
        other->is_run_back == wait.is_run_back)
      return;
  }
  VEC_PUSH(e->draft->compile->arena, &call->waits, wait);
}

/* The latest mark first, because it may imply the others. */
static void wait_for(Edges *e, int32_t position, Lane lane, const EdgeMarks *need) {
  Call *call = &e->program->calls.at[position];
  EdgeMarks *known = &e->known[lane];
  for (;;) {
    Mark latest = 0;
    for (int32_t other = 0; other < Lane_COUNT; other++)
      if (need->at[other] > known->at[other] && need->at[other] > latest) latest = need->at[other];
    if (latest == 0) return;
    int32_t visit = (int32_t)(latest / MARK_RECORDS), record = (int32_t)(latest % MARK_RECORDS);
    int32_t target = e->call[visit];
    const bool is_run_back = visit <= e->seam;
    add_wait(e, call,
             (Wait){.lane = lane,
                    .call = target,
                    .record = record,
                    .is_back = !is_run_back && target >= position,
                    .is_run_back = is_run_back});
    join_record(e, known, profile_of(e, &e->program->calls.at[target]), visit, record);
  }
}

/* Finds what the lanes of a call need from other lanes in earlier calls. */
static void find_needs(const Edges *e, const Call *call, const LaneProfile *profile,
                       EdgeMarks need[Lane_COUNT]) {
  for (int32_t i = 0; i < profile->uses.count; i++) {
    const BufferUse *use = &profile->uses.at[i];
    int32_t first, end;
    cells_of(e, call, use, &first, &end);
    for (int32_t c = first; c < end; c++)
      for (int32_t lane = 0; lane < Lane_COUNT; lane++) {
        const Cell *cell = &e->cells[c];
        Mark *mark = &need[use->lane].at[lane];
        if (lane == (int32_t)use->lane) continue;
        if (cell->write[lane] > *mark) *mark = cell->write[lane];
        if (use->last_write != NO_ID && cell->read[lane] > *mark) *mark = cell->read[lane];
      }
  }
}

static void note_mark(Mark *mark, int32_t visit, int32_t record) {
  if (record != NO_ID && mark_of(visit, record) > *mark) *mark = mark_of(visit, record);
}

static void note_uses(const Edges *e, const Call *call, const LaneProfile *profile) {
  for (int32_t i = 0; i < profile->uses.count; i++) {
    const BufferUse *use = &profile->uses.at[i];
    int32_t first, end;
    cells_of(e, call, use, &first, &end);
    for (int32_t c = first; c < end; c++) {
      note_mark(&e->cells[c].read[use->lane], e->visit, use->last_read);
      note_mark(&e->cells[c].write[use->lane], e->visit, use->last_write);
    }
  }
}

/* Notes what has finished before the first record of a lane: from its waits for earlier calls, and
 * from the lanes of this call that it is ordered after anyway. */
static void start_lane(Edges *e, int32_t position, const LaneProfile *profile, Lane lane,
                       const EdgeMarks *need) {
  const int32_t *over = profile->over[profile->first[lane]];
  EdgeMarks *start = &e->starts[e->visit][nth_lane(profile->lanes, lane)];
  for (int32_t other = 0; other < Lane_COUNT; other++)
    if (other != (int32_t)lane && over[other] != NO_ID)
      join_record(e, &e->known[lane], profile, e->visit, over[other]);
  wait_for(e, position, lane, need);
  *start = e->known[lane];
}

static void visit_call(Edges *e, int32_t position) {
  const Call *call = &e->program->calls.at[position];
  const LaneProfile *profile = profile_of(e, call);
  EdgeMarks need[Lane_COUNT] = {0};
  e->call[++e->visit] = position;
  e->starts[e->visit] =
      ARENA_ARRAY(e->draft->compile->arena, EdgeMarks, nth_lane(profile->lanes, Lane_COUNT));
  find_needs(e, call, profile, need);
  for (int32_t i = 0; i < profile->lane_count; i++)
    start_lane(e, position, profile, profile->order[i], &need[profile->order[i]]);
  for (int32_t i = 0; i < profile->lane_count; i++) {
    Lane lane = profile->order[i];
    join_record(e, &e->known[lane], profile, e->visit, profile->last[lane]);
  }
  note_uses(e, call, profile);
  if ((profile->lanes >> LANE_COMPUTE & 1) != 0) memcpy(e->at_end, e->known, sizeof e->at_end);
}

static void walk_program(Edges *e) {
  const Program *program = e->program;
  for (int32_t i = 0, next_loop = 0; i < program->calls.count; i++) {
    const Loop *loop = next_loop < program->loops.count ? &program->loops.at[next_loop] : NULL;
    visit_call(e, i);
    if (loop == NULL || i + 1 < loop->first_call + loop->call_count) continue;
    for (int32_t k = loop->first_call; k <= i; k++)
      visit_call(e, k);
    next_loop++;
  }
}

static bool communicates(const Draft *d, int32_t lane) {
  for (int32_t s = 0; s < d->segments.count; s++)
    for (int32_t i = 0; i < d->segments.at[s].records.count; i++) {
      const Record *record = &d->segments.at[s].records.at[i];
      if (record->lane == (Lane)lane && record->meaning != NULL) return true;
    }
  return false;
}

/* Joins at the start of the next run: the main lane knows that its own records are over, and the
 * records that other communicating lanes had finished by its last call; all lanes begin after it.
 */
static void cross_seam(Edges *e) {
  EdgeMarks *main = &e->known[LANE_COMPUTE];
  for (int32_t lane = 0; lane < Lane_COUNT; lane++)
    if (communicates(e->draft, lane)) join(main, &e->at_end[lane]);
  for (int32_t lane = 0; lane < Lane_COUNT; lane++)
    join(&e->known[lane], main);
  e->seam = e->visit;
}

static void build_program(Edges *e) {
  Arena *arena = e->draft->compile->arena;
  const Program *program = e->program;
  uint32_t lanes = 0;
  for (int32_t i = 0; i < program->calls.count; i++)
    lanes |= profile_of(e, &program->calls.at[i])->lanes;
  if (is_one_lane(lanes)) return;
  make_cells(e);
  memset(e->known, 0, sizeof e->known);
  e->visit = e->seam = 0;
  e->call = ARENA_ARRAY(arena, int32_t, 4 * program->calls.count + 1);
  e->starts = ARENA_ARRAY(arena, EdgeMarks *, 4 * program->calls.count + 1);
  walk_program(e);
  if (program != &e->stage->programs[PROGRAM_TRAIN_STEP] || !e->draft->offloads_state) return;
  cross_seam(e);
  walk_program(e);
}

/* ---- snapshots: an update waits until its parameters have been copied */

typedef struct SavedSource {
  int64_t first, end;
  Mark mark; /* one lane copies everything: a later copy implies the earlier ones */
} SavedSource;

static int compare_sources(const void *a, const void *b) {
  return compare_bounds(&((const SavedSource *)a)->first, &((const SavedSource *)b)->first);
}

static void find_sources(Edges *e, const Program *snapshot) {
  VEC(SavedSource) sources = {0};
  e->is_copied = ARENA_ARRAY(e->draft->compile->arena, bool, e->stage->buffers.count);
  for (int32_t i = 0; i < snapshot->calls.count; i++) {
    const Call *call = &snapshot->calls.at[i];
    const Segment *segment = &e->draft->segments.at[call->segment];
    for (int32_t r = 0; r < segment->records.count; r++) {
      const Operand *from = &segment->records.at[r].operands[0];
      const int64_t first = address(e, call, from->base) + from->offset_bytes;
      e->is_copied[call->bindings[from->base].buffer] = true;
      VEC_PUSH(e->draft->compile->arena, &sources,
               (SavedSource){first, first + from->size_bytes, mark_of(i, r)});
    }
  }
  e->source_count = sources.count, e->sources = sources.at;
  if (sources.count > 0)
    qsort(sources.at, (size_t)sources.count, sizeof *sources.at, compare_sources);
}

/* The latest copy of any of these bytes; -1: none is copied. */
static Mark copy_of(const Edges *e, int64_t first, int64_t end) {
  int32_t low = 0, high = e->source_count;
  Mark latest = -1;
  while (low < high) { /* the first source that ends after `first` */
    const int32_t middle = (low + high) / 2;
    if (e->sources[middle].end > first)
      high = middle;
    else
      low = middle + 1;
  }
  for (; low < e->source_count && e->sources[low].first < end; low++)
    if (e->sources[low].mark > latest) latest = e->sources[low].mark;
  return latest;
}

/* True if the use writes to a buffer of which bytes are copied. These last: they share no bytes
 * with others. */
static bool may_write_copied(const Edges *e, const Call *call, const BufferUse *use) {
  return use->last_write != NO_ID && use->base >= 0 &&
         e->is_copied[call->bindings[use->base].buffer];
}

/* Before it writes bytes that are copied, a lane waits for the latest snapshot's copy. */
static void wait_for_copies(Edges *e) {
  Mark known[Lane_COUNT];
  memset(known, -1, sizeof known);
  for (int32_t i = 0; i < e->program->calls.count; i++) {
    Call *call = &e->program->calls.at[i];
    const LaneProfile *profile = profile_of(e, call);
    Mark need[Lane_COUNT];
    memcpy(need, known, sizeof need);
    for (int32_t u = 0; u < profile->uses.count; u++) {
      const BufferUse *use = &profile->uses.at[u];
      if (!may_write_copied(e, call, use)) continue;
      const int64_t at = address(e, call, use->base);
      const Mark mark = copy_of(e, at + use->first, at + use->end);
      if (mark > need[use->lane]) need[use->lane] = mark;
    }
    for (int32_t lane = 0; lane < Lane_COUNT; lane++)
      if (need[lane] > known[lane])
        add_wait(e, call,
                 (Wait){.lane = (Lane)lane,
                        .call = (int32_t)(need[lane] / MARK_RECORDS),
                        .record = (int32_t)(need[lane] % MARK_RECORDS),
                        .is_of_snapshot = true});
    memcpy(known, need, sizeof known);
  }
}

static void build_seams(Edges *e) {
  if (!e->stage->programs[PROGRAM_SNAPSHOT].exists) return;
  find_sources(e, &e->stage->programs[PROGRAM_SNAPSHOT]);
  for (int32_t kind = PROGRAM_TRAIN_STEP; kind <= PROGRAM_EVAL_STEP; kind++) {
    e->program = (Program *)&e->stage->programs[kind];
    if (e->program->exists) wait_for_copies(e);
  }
}

void edges_build(Draft *d) {
  Edges e = {.draft = d};
  e.profiles = ARENA_ARRAY(d->compile->arena, LaneProfile *, d->segments.count + 1);
  e.flags = ARENA_ARRAY(d->compile->arena, uint32_t, d->segments.count + 1);
  e.touches = ARENA_ARRAY(d->compile->arena, const Touches *, d->segments.count + 1);
  for (int32_t s = 0; s < d->segments.count; s++) {
    Segment *segment = &d->segments.at[s];
    assert(segment->records.count < MARK_RECORDS);
    e.touches[s] = touches_of(d, segment);
    for (int32_t i = 0; i < segment->records.count; i++)
      e.flags[s] |= segment->records.at[i].when_all | segment->records.at[i].when_none;
    order_segment(d->compile->arena, e.touches[s], segment);
  }
  for (int32_t s = 0; s < d->stage_count; s++) {
    e.stage = &d->stages[s];
    for (int32_t kind = 0; kind < ProgramKind_COUNT; kind++) {
      e.program = &d->stages[s].programs[kind];
      if (e.program->exists) build_program(&e);
    }
    build_seams(&e);
  }
}
