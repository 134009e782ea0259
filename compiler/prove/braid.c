#include "compiler/prove/braid.h"

#include <stdlib.h>
#include <string.h>

/* ---- touches */

static bool add_touch(Touches *touches, Touch touch) {
  if (touch.first == touch.end) return true;
  if (touches->count == touches->capacity) {
    uint32_t capacity = 2 * touches->capacity + 8;
    Touch *grown = realloc(touches->at, capacity * sizeof *grown);
    if (grown == NULL) return false;
    touches->at = grown, touches->capacity = capacity;
  }
  touches->at[touches->count++] = touch;
  return true;
}

/* Whoever is ordered with `more` is ordered with `touch`. */
static bool stands_for(const Touch *more, const Touch *touch) {
  return more->base == touch->base && more->first <= touch->first && touch->end <= more->end &&
         more->write >= touch->write;
}

static bool keep_early(const Touches *all, Touches *early) {
  for (uint32_t i = 0; i < all->count; i++) {
    const Touch *touch = &all->at[i];
    bool needed = true;
    for (uint32_t k = 0; k < early->count && needed; k++)
      needed = !stands_for(&early->at[k], touch); /* on one lane the later knows no less */
    if (needed && !add_touch(early, *touch)) return false;
  }
  return true;
}

static bool keep_late(const Touches *all, Touches *late) {
  for (uint32_t i = all->count; i-- > 0;) {
    const Touch *touch = &all->at[i];
    bool needed = true;
    for (uint32_t k = 0; k < late->count && needed; k++)
      needed = !stands_for(&late->at[k], touch);
    if (needed && !add_touch(late, *touch)) return false;
  }
  return true;
}

/* Control block and communicators lie too far apart for one. */
static bool draw_around(const Touches *all, Touches *around) {
  for (uint32_t i = 0; i < all->count; i++) {
    const Touch *touch = &all->at[i];
    uint32_t k = 0;
    while (k < around->count && (around->at[k].base != touch->base || touch->base == BASE_NONE))
      k++;
    if (k == around->count) {
      if (!add_touch(around, *touch)) return false;
      continue;
    }
    Touch *whole = &around->at[k];
    if (touch->first < whole->first) whole->first = touch->first;
    if (touch->end > whole->end) whole->end = touch->end;
    whole->write = whole->write || touch->write;
  }
  return true;
}

/* ---- one record after the other */

static void join(Clock *clock, const Clock *other) {
  if (!other->runs) return;
  clock->entries |= other->entries;
  for (uint32_t k = 0; k < PLAN_LANES_MAX; k++)
    if (other->number[k] > clock->number[k]) clock->number[k] = other->number[k];
}

static Clock tick(const Plan *plan, Braid *braid, const PlanRecord *record, Clock *lane_now) {
  Clock clock = *lane_now;
  clock.entries |= 1u << record->lane;
  for (uint32_t i = 0; i < record->after_count; i++)
    join(&clock, &braid->clock[plan->edges[record->after_first + i].record]);
  clock.number[record->lane] = ++braid->count[record->lane];
  clock.runs = true;
  return *lane_now = clock;
}

static bool touch_control(const View *view, const PlanRecord *record, Touches *all, Touch touch) {
  const Plan *plan = view->plan;
  bool done = true;
  for (uint32_t i = 0; i < record->controls_count; i++) {
    const PlanControl *control = &plan->controls[record->controls_first + i];
    touch.write = control->access != ACCESS_READ;
    touch.first = plan->jobs[0].control_offset + plan->slots[control->slot].offset;
    touch.end = touch.first + CONTROL_SLOT_BYTES;
    done = done && add_touch(all, touch);
  }
  return done;
}

static bool touch_all(const Walk *walk, Braid *braid, uint32_t index) {
  const View *view = walk->view;
  const PlanRecord *record = walk_record(walk, index);
  const Clock *clock = &braid->clock[index];
  Touches *all = &braid->all[record->lane];
  Touch touch = {.record = index, .number = clock->number[record->lane], .entries = clock->entries};
  bool done = true;
  for (uint32_t i = 0; i < record->operands_count; i++) {
    const PlanOperand *operand = &view->plan->operands[record->operands_first + i];
    touch.base = operand->base;
    touch.first = view_operand(view, operand);
    touch.end = touch.first + operand->size_bytes;
    touch.write = operand->access != ACCESS_READ;
    done = done && add_touch(all, touch);
  }
  touch.base = BASE_NONE;
  done = done && touch_control(view, record, all, touch);
  touch.first = comm_space + record->comm;
  touch.end = touch.first + record_is_communication(record);
  touch.write = true;
  return done && add_touch(all, touch);
}

static bool fill(const Walk *walk, Braid *braid) {
  Clock lane_now[PLAN_LANES_MAX] = {{{0}, 0, false}};
  bool done = true;
  for (uint32_t i = 0; i < walk->segment->records_count && done; i++) {
    const PlanRecord *record = walk_record(walk, i);
    if (!walk_runs(walk, record)) continue;
    braid->lanes |= 1u << record->lane;
    braid->clock[i] = tick(walk->view->plan, braid, record, &lane_now[record->lane]);
    done = touch_all(walk, braid, i);
  }
  for (uint32_t lane = 0; lane < walk->view->plan->lanes_count && done; lane++)
    done = keep_early(&braid->all[lane], &braid->early[lane]) &&
           keep_late(&braid->all[lane], &braid->late[lane]) &&
           draw_around(&braid->early[lane], &braid->around[lane]);
  return done;
}

/* ---- all of them */

static void free_braid(Braid *braid) {
  for (uint32_t lane = 0; lane < PLAN_LANES_MAX; lane++)
    free(braid->all[lane].at), free(braid->early[lane].at), free(braid->late[lane].at),
        free(braid->around[lane].at);
  free(braid->clock), free(braid);
}

/* Numbers of the rank, where the segment goes by them. */
static uint64_t rank_of(const Braids *braids, const Walk *walk) {
  return braids->moves[walk->call->segment] ? walk->view->rank : 0;
}

Braid *braid_of(Braids *braids, const Walk *walk) {
  Braid **first = &braids->of_segment[walk->call->segment];
  uint64_t rank = rank_of(braids, walk);
  for (Braid *braid = *first; braid != NULL; braid = braid->next)
    if (braid->flags == walk->call->flags && braid->rank == rank) return braid;
  Braid *braid = calloc(1, sizeof *braid);
  if (braid == NULL) return NULL;
  *braid = (Braid){.segment = walk->call->segment, .flags = walk->call->flags, .rank = rank};
  braid->clock = calloc(walk->segment->records_count + 1, sizeof *braid->clock);
  if (braid->clock == NULL || !fill(walk, braid)) {
    free_braid(braid);
    return NULL;
  }
  braid->next = *first;
  return *first = braid;
}

static bool moves(const Plan *plan, const PlanSegment *segment) {
  for (uint32_t r = 0; r < segment->records_count; r++) {
    const PlanRecord *record = &plan->records[segment->records_first + r];
    for (uint32_t i = 0; i < record->operands_count; i++) {
      const PlanOperand *operand = &plan->operands[record->operands_first + i];
      if (operand->by != PLAN_NONE && operand->member_stride != 0) return true;
    }
  }
  return false;
}

Braids *braids_open(const View *view) {
  const Plan *plan = view->plan;
  Braids *braids = prove_array(view, 1, sizeof *braids);
  if (braids == NULL) return NULL;
  braids->of_segment = prove_array(view, plan->segments_count, sizeof(Braid *));
  braids->moves = prove_array(view, plan->segments_count, sizeof *braids->moves);
  if (braids->of_segment == NULL || braids->moves == NULL) {
    braids_close(plan, braids);
    return NULL;
  }
  for (uint32_t i = 0; i < plan->segments_count; i++)
    braids->moves[i] = moves(plan, &plan->segments[i]);
  return braids;
}

void braids_close(const Plan *plan, Braids *braids) {
  for (uint32_t i = 0; braids->of_segment != NULL && i < plan->segments_count; i++)
    for (Braid *braid = braids->of_segment[i], *next = NULL; braid != NULL; braid = next) {
      next = braid->next;
      free_braid(braid);
    }
  free(braids->of_segment), free(braids->moves), free(braids);
}
