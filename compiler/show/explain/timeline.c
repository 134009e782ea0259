/* timeline.c -- the boxes of a train step: what each lane of each class runs in the simulation. */
#include <string.h>

#include "compiler/plan/simulate/simulate.h"
#include "compiler/show/explain/timeline_boxes.h"
#include "runtime/plan/plan_segment.h"

/* ---- how long */

static TimelineUnit unit_of_program(const Plan *plan, uint32_t class, const PlanProgram *program) {
  TimelineUnit unit = UNIT_KERNELS;
  for (uint32_t i = 0; i < program->calls_count; i++) {
    const PlanCall *call = &plan->calls[program->calls_first + i];
    const PlanSegment *segment = &plan->segments[call->segment];
    for (uint32_t k = 0; k < segment->records_count; k++) {
      const PlanRecord *record = &plan->records[segment->records_first + k];
      if (!plan_runs(call, record)) continue;
      if (price_ns(plan, class, record) > 0) return UNIT_NS;
      if (record->flops > 0) unit = UNIT_FLOPS;
    }
  }
  return unit;
}

/* The best unit that the train steps have; false: there is no train step. */
static bool choose_unit(const Plan *plan, TimelineUnit *unit) {
  bool any = false;
  *unit = UNIT_KERNELS;
  for (uint32_t c = 0; c < plan->classes_count; c++) {
    const PlanProgram *program = plan_program(plan, &plan->classes[c], PROGRAM_TRAIN_STEP);
    if (program == NULL) continue;
    TimelineUnit own = unit_of_program(plan, c, program);
    if (own < *unit) *unit = own;
    any = true;
  }
  return any;
}

/* Records that take as long as their FLOPs, or one unit each, when no times are predicted. */
static const PlanRecord *records_in(Arena *arena, const Plan *plan, TimelineUnit unit) {
  if (unit == UNIT_NS) return plan->records;
  PlanRecord *records = ARENA_ARRAY(arena, PlanRecord, plan->records_count);
  for (uint32_t i = 0; i < plan->records_count; i++) {
    int64_t flops = plan->records[i].flops;
    records[i] = plan->records[i];
    records[i].predicted_ns = unit == UNIT_KERNELS ? records[i].kind == RECORD_KERNEL
                              : flops > 0          ? flops
                                                   : 0;
  }
  return records;
}

/* ---- kinds of boxes */

/* The box of a call with kernels, by its segment's kind. */
static const BoxKind boxes[SegmentKind_COUNT] = {[SEGMENT_UNKNOWN] = BOX_UPDATE,
                                                 [SEGMENT_LOAD] = BOX_LOAD,
                                                 [SEGMENT_CODES] = BOX_FORWARD,
                                                 [SEGMENT_FORWARD] = BOX_FORWARD,
                                                 [SEGMENT_RECOMPUTE] = BOX_RECOMPUTE,
                                                 [SEGMENT_BACKWARD] = BOX_BACKWARD,
                                                 [SEGMENT_WEIGHT] = BOX_WEIGHT,
                                                 [SEGMENT_TRANSFER] = BOX_COMMUNICATION,
                                                 [SEGMENT_GATHER] = BOX_COMMUNICATION,
                                                 [SEGMENT_CAST] = BOX_FORWARD,
                                                 [SEGMENT_RECAST] = BOX_BACKWARD,
                                                 [SEGMENT_REDUCE] = BOX_COMMUNICATION,
                                                 [SEGMENT_JOIN] = BOX_COMMUNICATION,
                                                 [SEGMENT_CLEAR] = BOX_UPDATE,
                                                 [SEGMENT_SQUARES] = BOX_UPDATE,
                                                 [SEGMENT_NORM] = BOX_UPDATE,
                                                 [SEGMENT_UPDATE] = BOX_UPDATE,
                                                 [SEGMENT_CONTROL] = BOX_COMMUNICATION,
                                                 [SEGMENT_MIRROR] = BOX_LOAD,
                                                 [SEGMENT_KEPT] = BOX_LOAD,
                                                 [SEGMENT_STATE] = BOX_LOAD,
                                                 [SEGMENT_INIT] = BOX_UPDATE,
                                                 [SEGMENT_SAVE] = BOX_LOAD};

/* A call that only communicates counts as a communication, one that only loads as a load; on a lane
 * beside computation each record counts by itself. */
static BoxKind kind_of(const Plan *plan, const Stretch *stretch) {
  const PlanCall *call = stretch->call;
  const PlanSegment *segment = &plan->segments[call->segment];
  bool computes = false, communicates = false;
  if (stretch->lane != plan_main_lane(plan) && stretch->record != NULL &&
      plan_is_communication(stretch->record))
    return BOX_COMMUNICATION;
  for (uint32_t i = 0; i < segment->records_count; i++) {
    const PlanRecord *record = &plan->records[segment->records_first + i];
    if (!plan_runs(call, record)) continue;
    computes |= record->kind == RECORD_KERNEL;
    communicates |= plan_is_communication(record);
  }
  if (!computes) return communicates ? BOX_COMMUNICATION : BOX_LOAD;
  return boxes[plan_segment_kind(plan, segment)];
}

/* ---- chunks: layers that a row always works through without a pause
 *
 * A plan does not say where a chunk ends, but its order shows it: one kind of work for one
 * micro-batch goes over all layers of a chunk. Two adjacent chunks, as on the last stage of a
 * folded chain, may follow each other for one micro-batch, but not always. */

typedef struct ChunkMap {
  bool *begins;   /* by layer: work on some micro-batch begins there */
  int32_t *chunk; /* by layer; -1: the row does not have it */
  int32_t layers, count;
} ChunkMap;

/* An update covers the layers of all chunks. */
static bool is_of_chunk(const Box *box) {
  return box->kind <= BOX_RECOMPUTE && box->layer_first >= 0;
}

/* Recomputed layers belong to the box of their backward. */
static bool is_same_work(const Box *a, const Box *b) {
  return a->kind == b->kind && a->microbatch == b->microbatch;
}

static void note_begins(ChunkMap *map, const TimelineLane *lane) {
  const Box *work = NULL; /* the first box of it */
  int32_t first = 0, last = 0;
  for (int32_t i = 0; i <= lane->boxes.count; i++) {
    const Box *box = i < lane->boxes.count ? &lane->boxes.at[i] : NULL;
    if (box != NULL && (!is_of_chunk(box) || box->kind == BOX_RECOMPUTE)) continue;
    if (work != NULL && (box == NULL || !is_same_work(work, box))) {
      map->begins[first] = map->begins[last + 1] = true;
      work = NULL;
    }
    if (box == NULL) break;
    if (work == NULL) work = box, first = box->layer_first, last = box->layer_last;
    if (box->layer_first < first) first = box->layer_first;
    if (box->layer_last > last) last = box->layer_last;
  }
}

static ChunkMap map_chunks(Arena *arena, const TimelineLane *lane) {
  ChunkMap map = {0};
  for (int32_t i = 0; i < lane->boxes.count; i++)
    if (lane->boxes.at[i].layer_last >= map.layers) map.layers = lane->boxes.at[i].layer_last + 1;
  map.begins = ARENA_ARRAY(arena, bool, map.layers + 1);
  map.chunk = ARENA_ARRAY(arena, int32_t, map.layers + 1);
  bool *has = ARENA_ARRAY(arena, bool, map.layers + 1);
  for (int32_t i = 0; i < lane->boxes.count; i++)
    for (int32_t l = lane->boxes.at[i].layer_first;
         is_of_chunk(&lane->boxes.at[i]) && l <= lane->boxes.at[i].layer_last; l++)
      has[l] = true;
  note_begins(&map, lane);
  for (int32_t l = 0; l < map.layers; l++) {
    bool is_new = has[l] && (l == 0 || !has[l - 1] || map.begins[l]);
    map.count += is_new;
    map.chunk[l] = has[l] ? map.count - 1 : -1;
  }
  return map;
}

/* ---- boxes */

/* Layers of one chunk are consecutive, in either direction; those of two chunks are not. */
static bool is_beside(const Box *last, const Box *box) {
  if (last->layer_first < 0 || box->layer_first < 0) return true;
  return box->layer_first >= last->layer_first - 1 && box->layer_last <= last->layer_last + 1;
}

static bool is_of_one_chunk(const Box *last, const Box *box) {
  return last->chunk < 0 || box->chunk < 0 || last->chunk == box->chunk;
}

static bool belongs_to(const Box *last, const Box *box) {
  return last->end == box->start && last->kind == box->kind &&
         last->microbatch == box->microbatch &&
         (box->kind > BOX_RECOMPUTE || (is_beside(last, box) && is_of_one_chunk(last, box))) &&
         (box->kind != BOX_COMMUNICATION || last->segment == box->segment);
}

static void grow(Box *box, const Box *by) {
  box->end = by->end;
  if (by->layer_first < 0) return;
  if (box->layer_first < 0 || by->layer_first < box->layer_first)
    box->layer_first = by->layer_first;
  if (by->layer_last > box->layer_last) box->layer_last = by->layer_last;
  if (box->chunk < 0) box->chunk = by->chunk;
}

static void join_boxes(TimelineLane *lane, const ChunkMap *map) {
  int32_t count = 0;
  for (int32_t i = 0; i < lane->boxes.count; i++) {
    Box box = lane->boxes.at[i];
    box.chunk =
        is_of_chunk(&box) && box.layer_last < map->layers ? map->chunk[box.layer_first] : -1;
    if (count > 0 && belongs_to(&lane->boxes.at[count - 1], &box))
      grow(&lane->boxes.at[count - 1], &box);
    else
      lane->boxes.at[count++] = box;
  }
  lane->boxes.count = count;
}

static void join_row(Arena *arena, const Timeline *timeline, TimelineRow *row) {
  ChunkMap map = map_chunks(arena, &row->lanes[timeline->main]);
  row->chunk_count = map.count;
  for (uint32_t lane = 0; lane < PLAN_LANES_MAX; lane++)
    join_boxes(&row->lanes[lane], &map);
}

typedef struct TimelineDrawing {
  Arena *arena;
  Timeline *timeline;
} TimelineDrawing;

/* Makes a box of each stretch; chunks are known only when all boxes are there. */
static void take_stretch(void *state, const Stretch *stretch) {
  const TimelineDrawing *drawing = state;
  const PlanCall *call = stretch->call;
  TimelineLane *lane = &drawing->timeline->rows[stretch->class].lanes[stretch->lane];
  if (stretch->end_ns <= stretch->start_ns) return;
  lane->busy += stretch->end_ns - stretch->start_ns;
  VEC_PUSH(drawing->arena, &lane->boxes,
           (Box){.start = stretch->start_ns,
                 .end = stretch->end_ns,
                 .kind = kind_of(drawing->timeline->plan, stretch),
                 .microbatch = stretch->microbatch,
                 .layer_first = call->layer,
                 .layer_last = call->layer,
                 .chunk = -1,
                 .segment = call->segment});
}

static void find_lanes(Timeline *timeline) {
  for (uint32_t lane = 0; lane < timeline->plan->lanes_count; lane++) {
    bool is_used = false;
    for (int32_t row = 0; row < timeline->row_count; row++)
      is_used |= timeline->rows[row].lanes[lane].boxes.count > 0;
    if (is_used && lane != timeline->main) timeline->beside[timeline->beside_count++] = lane;
  }
}

Timeline *timeline_make(Arena *arena, const Plan *plan) {
  Timeline *timeline = ARENA_NEW(arena, Timeline);
  if (!choose_unit(plan, &timeline->unit)) return NULL;
  timeline->plan = plan;
  timeline->main = plan_main_lane(plan);
  timeline->row_count = (int32_t)plan->classes_count;
  timeline->rows = ARENA_ARRAY(arena, TimelineRow, timeline->row_count);
  for (int32_t row = 0; row < timeline->row_count; row++)
    timeline->rows[row].name = plan_string(plan, plan->classes[row].name);
  Plan measured = *plan;
  measured.records = records_in(arena, plan, timeline->unit);
  TimelineDrawing drawing = {arena, timeline};
  const LaneTimes *times = simulate_stretches(arena, &measured, PROGRAM_TRAIN_STEP,
                                              &(StretchSink){take_stretch, &drawing});
  timeline->span = 1;
  for (int32_t row = 0; row < timeline->row_count; row++) {
    if (times[row].span_ns > timeline->span) timeline->span = times[row].span_ns;
    timeline->is_stuck |= times[row].is_stuck;
    join_row(arena, timeline, &timeline->rows[row]);
  }
  find_lanes(timeline);
  return timeline;
}

/* ---- words */

const char *box_kind_name(BoxKind kind) {
  static const char *const names[BOX_KIND_COUNT] = {
      "forward", "backward", "weight gradients", "recompute", "communication", "update", "load"};
  return names[kind];
}

bool timeline_has(const Timeline *timeline, BoxKind kind) {
  for (int32_t row = 0; row < timeline->row_count; row++)
    for (int32_t lane = 0; lane < PLAN_LANES_MAX; lane++)
      for (int32_t i = 0; i < timeline->rows[row].lanes[lane].boxes.count; i++)
        if (timeline->rows[row].lanes[lane].boxes.at[i].kind == kind) return true;
  return false;
}

double timeline_idle_share(const Timeline *timeline) {
  double busy = 0;
  for (int32_t row = 0; row < timeline->row_count; row++)
    busy += (double)timeline->rows[row].lanes[timeline->main].busy;
  return 1 - busy / ((double)timeline->span * timeline->row_count);
}

TimelineScale timeline_scale(const Timeline *timeline, double length) {
  static const TimelineScale scales[] = {
      [UNIT_NS] = {"ms", 1e6}, [UNIT_FLOPS] = {"GFLOP", 1e9}, [UNIT_KERNELS] = {"kernels", 1}};
  if (timeline->unit == UNIT_NS && length >= 1e9) return (TimelineScale){"s", 1e9};
  if (timeline->unit == UNIT_FLOPS && length >= 1e12) return (TimelineScale){"TFLOP", 1e12};
  return scales[timeline->unit];
}

const char *timeline_length(Arena *arena, const Timeline *timeline, double length) {
  if (timeline->unit == UNIT_NS) return format_seconds(arena, length * 1e-9);
  if (timeline->unit == UNIT_FLOPS) return format_scaled(arena, length, "FLOP");
  return arena_printf(arena, "%.0f kernels", length);
}

const char *timeline_title(Arena *arena, const Timeline *timeline) {
  const char *length = timeline_length(arena, timeline, (double)timeline->span);
  const char *rows =
      timeline->row_count == 1 ? "" : arena_printf(arena, " on %d stages", timeline->row_count);
  const char *stuck = timeline->is_stuck ? "; stages wait for each other for ever" : "";
  const char *unit = timeline->unit == UNIT_NS ? "" : " (no predicted times)";
  return arena_printf(arena, "train step: %s%s, idle %.1f %%%s%s", length, rows,
                      100 * timeline_idle_share(timeline), unit, stuck);
}
