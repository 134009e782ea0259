#include "compiler/prove/clocks.h"

#include <stdlib.h>
#include <string.h>

/* ---- one record after the other */

static void join(Clock *clock, const Clock *other) {
  if (!other->runs) return;
  clock->entries |= other->entries;
  for (uint32_t k = 0; k < PLAN_LANES_MAX; k++)
    if (other->number[k] > clock->number[k]) clock->number[k] = other->number[k];
}

static Clock tick(const Plan *plan, Clocks *clocks, const PlanRecord *record, Clock *lane_now) {
  Clock clock = *lane_now;
  clock.entries |= 1u << record->lane;
  for (uint32_t i = 0; i < record->after_count; i++)
    join(&clock, &clocks->clock[plan->edges[record->after_first + i].record]);
  clock.number[record->lane] = ++clocks->count[record->lane];
  clock.runs = true;
  return *lane_now = clock;
}

static void run_records(const Walk *walk, Clocks *clocks) {
  Clock lane_now[PLAN_LANES_MAX] = {{{0}, 0, false}};
  for (uint32_t i = 0; i < walk->segment->records_count; i++) {
    const PlanRecord *record = walk_record(walk, i);
    if (!walk_runs(walk, record)) continue;
    clocks->lanes |= 1u << record->lane;
    clocks->last[record->lane] = i;
    clocks->clock[i] = tick(walk->view->plan, clocks, record, &lane_now[record->lane]);
  }
}

/* ---- touches */

static void add_touch(Touches *touches, Touch touch, uint64_t bytes, uint32_t access) {
  touch.end = touch.first + bytes;
  touch.write = access != ACCESS_READ;
  if (bytes > 0) touches->at[touches->count++] = touch;
}

static void touch_all(const Walk *walk, const Clocks *clocks, uint32_t index, Touches *all) {
  const Plan *plan = walk->view->plan;
  const PlanRecord *record = walk_record(walk, index);
  const Clock *clock = &clocks->clock[index];
  Touch touch = {.record = index, .number = clock->number[record->lane], .entries = clock->entries};
  for (uint32_t i = 0; i < record->operands_count; i++) {
    const PlanOperand *operand = record_operand(plan, record, i);
    uint64_t bytes = operand_end(plan, operand) - operand->offset;
    touch.base = operand->base, touch.first = operand->offset;
    add_touch(all, touch, operand->size_bytes == 0 ? 0 : bytes, operand->access);
  }
  touch.base = BASE_NONE;
  for (uint32_t i = 0; i < record->controls_count; i++) {
    const PlanControl *control = &plan->controls[record->controls_first + i];
    touch.first = plan->jobs[0].control_offset + plan->slots[control->slot].offset;
    add_touch(all, touch, CONTROL_SLOT_BYTES, control->access);
  }
  touch.first = comm_space + record->comm;
  add_touch(all, touch, plan_is_communication(record), ACCESS_WRITE);
}

static size_t most_touches(const Walk *walk) {
  size_t most = 0;
  for (uint32_t i = 0; i < walk->segment->records_count; i++)
    most += (size_t)walk_record(walk, i)->operands_count + walk_record(walk, i)->controls_count + 1;
  return most;
}

/* Keeps a touch unless one that is kept already covers it: on one lane the later record knows at
 * least as much, so whatever is ordered with the one is ordered with the other. Only touches that
 * begin at the same byte are compared. */
static void keep(Touches *kept, uint32_t *lists, size_t list_count, Touch touch) {
  uint32_t *last = &lists[hash_mix(hash_mix(1, touch.base), touch.first) % list_count];
  for (uint32_t k = *last; k != 0; k = kept->at[k - 1].before) {
    const Touch *more = &kept->at[k - 1];
    if (more->base == touch.base && more->first == touch.first && touch.end <= more->end &&
        more->write >= touch.write)
      return;
  }
  touch.before = *last;
  kept->at[kept->count++] = touch;
  *last = kept->count;
}

/* Lane by lane: each list begins where the one before ends. */
static void list_touches(const Walk *walk, Clocks *clocks, uint32_t *lists) {
  Touch *next = clocks->touch;
  for (uint32_t lane = 0; lane < PLAN_LANES_MAX; lane++) {
    Touches *all = &clocks->all[lane], *early = &clocks->early[lane], *late = &clocks->late[lane];
    all->at = next;
    for (uint32_t i = 0; i < walk->segment->records_count; i++)
      if (clocks->clock[i].runs && walk_record(walk, i)->lane == lane)
        touch_all(walk, clocks, i, all);
    early->at = all->at + all->count;
    memset(lists, 0, all->count * sizeof *lists);
    for (uint32_t i = 0; i < all->count; i++)
      keep(early, lists, all->count, all->at[i]);
    late->at = early->at + early->count;
    memset(lists, 0, all->count * sizeof *lists);
    for (uint32_t i = all->count; i-- > 0;)
      keep(late, lists, all->count, all->at[i]);
    next = late->at + late->count;
  }
}

/* ---- all of them */

Clocks *clocks_of(Clocks **of_segment, const Walk *walk) {
  Clocks **first = &of_segment[walk->call->segment];
  for (Clocks *clocks = *first; clocks != NULL; clocks = clocks->next)
    if (clocks->flags == walk->call->flags) return clocks;
  Clocks *clocks = calloc(1, sizeof *clocks);
  if (clocks == NULL) return NULL;
  clocks->flags = walk->call->flags;
  clocks->clock = calloc(walk->segment->records_count + 1, sizeof *clocks->clock);
  clocks->touch = calloc(3 * most_touches(walk) + 1, sizeof *clocks->touch);
  uint32_t *lists =
      calloc(most_touches(walk) + 1, sizeof *lists); /* by hash: the last that is kept */
  if (clocks->clock == NULL || clocks->touch == NULL || lists == NULL) {
    clocks_free(clocks), free(lists);
    return NULL;
  }
  run_records(walk, clocks);
  list_touches(walk, clocks, lists);
  free(lists);
  clocks->next = *first;
  return *first = clocks;
}

void clocks_free(Clocks *first) {
  for (Clocks *next = NULL; first != NULL; first = next) {
    next = first->next;
    free(first->clock), free(first->touch), free(first);
  }
}
