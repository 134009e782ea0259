#include "compiler/prove/clocks.h"

#include <stdlib.h>

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

/* Keeps what none that is kept already stands for: on one lane the later knows no less. */
static bool keep(Touches *kept, const Touch *touch) {
  for (uint32_t k = 0; k < kept->count; k++)
    if (stands_for(&kept->at[k], touch)) return true;
  return add_touch(kept, *touch);
}

static bool sum_up(Clocks *clocks, uint32_t lane) {
  const Touches *all = &clocks->all[lane];
  bool done = true;
  for (uint32_t i = 0; i < all->count; i++)
    done = done && keep(&clocks->early[lane], &all->at[i]) &&
           keep(&clocks->late[lane], &all->at[all->count - 1 - i]);
  return done;
}

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

static bool touch_all(const Walk *walk, Clocks *clocks, uint32_t index) {
  const Plan *plan = walk->view->plan;
  const PlanRecord *record = walk_record(walk, index);
  const Clock *clock = &clocks->clock[index];
  Touches *all = &clocks->all[record->lane];
  Touch touch = {.record = index, .number = clock->number[record->lane], .entries = clock->entries};
  bool done = true;
  for (uint32_t i = 0; i < record->operands_count; i++) {
    const PlanOperand *operand = &plan->operands[record->operands_first + i];
    touch.base = operand->base;
    touch.first = operand->offset;
    touch.end = operand->size_bytes == 0 ? touch.first : operand_end(plan, operand);
    touch.write = operand->access != ACCESS_READ;
    done = done && add_touch(all, touch);
  }
  touch.base = BASE_NONE;
  for (uint32_t i = 0; i < record->controls_count; i++) {
    const PlanControl *control = &plan->controls[record->controls_first + i];
    touch.first = plan->jobs[0].control_offset + plan->slots[control->slot].offset;
    touch.end = touch.first + CONTROL_SLOT_BYTES;
    touch.write = control->access != ACCESS_READ;
    done = done && add_touch(all, touch);
  }
  touch.first = comm_space + record->comm;
  touch.end = touch.first + record_is_communication(record);
  touch.write = true;
  return done && add_touch(all, touch);
}

static bool fill(const Walk *walk, Clocks *clocks) {
  Clock lane_now[PLAN_LANES_MAX] = {{{0}, 0, false}};
  bool done = true;
  for (uint32_t i = 0; i < walk->segment->records_count && done; i++) {
    const PlanRecord *record = walk_record(walk, i);
    if (!walk_runs(walk, record)) continue;
    clocks->lanes |= 1u << record->lane;
    clocks->clock[i] = tick(walk->view->plan, clocks, record, &lane_now[record->lane]);
    done = touch_all(walk, clocks, i);
  }
  for (uint32_t lane = 0; lane < PLAN_LANES_MAX && done; lane++)
    done = sum_up(clocks, lane);
  return done;
}

/* ---- all of them */

static void free_clocks(Clocks *clocks) {
  for (uint32_t lane = 0; lane < PLAN_LANES_MAX; lane++)
    free(clocks->all[lane].at), free(clocks->early[lane].at), free(clocks->late[lane].at);
  free(clocks->clock), free(clocks);
}

Clocks *clocks_of(KeptClocks *kept, const Walk *walk) {
  Clocks **first = &kept->of_segment[walk->call->segment];
  for (Clocks *clocks = *first; clocks != NULL; clocks = clocks->next)
    if (clocks->flags == walk->call->flags) return clocks;
  Clocks *clocks = calloc(1, sizeof *clocks);
  if (clocks == NULL) return NULL;
  clocks->flags = walk->call->flags;
  clocks->clock = calloc(walk->segment->records_count + 1, sizeof *clocks->clock);
  if (clocks->clock == NULL || !fill(walk, clocks)) {
    free_clocks(clocks);
    return NULL;
  }
  clocks->next = *first;
  return *first = clocks;
}

bool clocks_open(const View *view, KeptClocks *kept) {
  kept->of_segment = prove_array(view, view->plan->segments_count, sizeof(Clocks *));
  return kept->of_segment != NULL;
}

void clocks_close(const Plan *plan, KeptClocks *kept) {
  for (uint32_t i = 0; kept->of_segment != NULL && i < plan->segments_count; i++)
    for (Clocks *clocks = kept->of_segment[i], *next = NULL; clocks != NULL; clocks = next) {
      next = clocks->next;
      free_clocks(clocks);
    }
  free(kept->of_segment);
}
