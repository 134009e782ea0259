/* flight.c -- rings of atomics: a reader may see an entry that is being overwritten, which does no
 * harm. */
#include "runtime/watch/flight.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "runtime/plan/plan_text.h"

static int64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void put(_Atomic int64_t *to, int64_t value) {
  atomic_store_explicit(to, value, memory_order_relaxed);
}

void flight_begin(Flight *flight, uint32_t lane, uint32_t record, int32_t layer,
                  int64_t microbatch) {
  FlightLane *of = &flight->lane[lane];
  uint64_t number = atomic_load_explicit(&of->begun, memory_order_relaxed);
  FlightEntry *entry = &of->entry[number % FLIGHT_ENTRIES];
  put(&entry->end_ns, 0);
  put(&entry->step, atomic_load_explicit(&flight->step, memory_order_relaxed));
  atomic_store_explicit(&entry->record, record, memory_order_relaxed);
  atomic_store_explicit(&entry->layer, layer, memory_order_relaxed);
  atomic_store_explicit(&entry->microbatch, (int32_t)microbatch, memory_order_relaxed);
  put(&entry->start_ns, now_ns());
  atomic_store_explicit(&of->begun, number + 1, memory_order_release);
}

void flight_end(Flight *flight, uint32_t lane) {
  FlightLane *of = &flight->lane[lane];
  uint64_t number = atomic_load_explicit(&of->begun, memory_order_relaxed);
  FlightEntry *entry = &of->entry[(number - 1) % FLIGHT_ENTRIES];
  int64_t end_ns = now_ns();
  put(&entry->end_ns, end_ns);
  if (flight->is_warm && flight->phase == FLIGHT_STEP)
    put(&of->busy_ns, of->busy_ns + end_ns - entry->start_ns);
}

void flight_phase(Flight *flight, FlightPhase phase, int64_t step) {
  put(&flight->step, step);
  atomic_store_explicit(&flight->phase, (int32_t)phase, memory_order_relaxed);
}

static int by_size(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

void flight_predict(Flight *flight, int64_t predicted_ns) {
  flight->predicted_ns = predicted_ns;
}

void flight_step_took(Flight *flight, int64_t step_ns) {
  int32_t number = flight->steps_timed++ - 1;
  if (number < 0) put(&flight->usual_ns, flight->predicted_ns);
  if (number >= 0) flight->later_ns += step_ns;
  flight->is_warm = true;
  if (number < 0 || number >= FLIGHT_MEDIAN_STEPS) return;
  flight->step_ns[number] = step_ns;
  if (number + 1 < FLIGHT_MEDIAN_STEPS) return;
  qsort(flight->step_ns, FLIGHT_MEDIAN_STEPS, sizeof step_ns, by_size);
  put(&flight->usual_ns, flight->step_ns[FLIGHT_MEDIAN_STEPS / 2]);
}

FlightNow flight_now(const Flight *flight, uint32_t lane) {
  const FlightLane *of = &flight->lane[lane];
  FlightNow now = {.begun = atomic_load_explicit(&of->begun, memory_order_acquire)};
  if (now.begun == 0) return now;
  const FlightEntry *entry = &of->entry[(now.begun - 1) % FLIGHT_ENTRIES];
  now.record = atomic_load_explicit(&entry->record, memory_order_relaxed);
  now.layer = atomic_load_explicit(&entry->layer, memory_order_relaxed);
  now.microbatch = atomic_load_explicit(&entry->microbatch, memory_order_relaxed);
  now.is_running = atomic_load_explicit(&entry->end_ns, memory_order_relaxed) == 0;
  return now;
}

Beat flight_beat(const Flight *flight, const Plan *plan) {
  Beat beat = {.step = flight->step,
               .usual_ns = flight->usual_ns,
               .phase = flight->phase,
               .pid = (int32_t)getpid()};
  for (uint32_t lane = 0; lane < plan->lanes_count; lane++)
    beat.lane[lane] = flight_now(flight, lane);
  return beat;
}

bool beat_has_moved(const Beat *before, const Beat *now) {
  return before->step != now->step || before->usual_ns != now->usual_ns ||
         before->phase != now->phase || before->pid != now->pid ||
         memcmp(before->lane, now->lane, sizeof now->lane) != 0;
}

void flight_text(const Plan *plan, const FlightNow *now, uint32_t lane, char *text,
                 size_t text_bytes) {
  if (now->begun == 0 || now->record >= plan->records_count) {
    (void)snprintf(text, text_bytes, "no record yet");
    return;
  }
  const PlanRecord *record = &plan->records[now->record];
  const char *kind = record->kernel == PLAN_NONE
                         ? RecordKind_names[record->kind]
                         : plan_string(plan, plan->kernels[record->kernel].name);
  const char *path = plan_string(plan, record->path);
  char comm[64] = "", layer[32] = "", head[64] = "";
  if (strncmp(path, kind, strlen(kind)) != 0) (void)snprintf(head, sizeof head, "%.60s ", kind);
  if (record->comm != PLAN_NONE)
    (void)snprintf(comm, sizeof comm, " over %.40s",
                   plan_string(plan, plan->comms[record->comm].name));
  if (now->layer >= 0) (void)snprintf(layer, sizeof layer, ", layer %d", now->layer);
  (void)snprintf(text, text_bytes, "%s%.80s%s (lane %s, record %u%s)", head, path, comm,
                 plan_lane_name(plan, lane), now->record, layer);
}

const char *flight_phase_name(int32_t phase) {
  static const char *const name[FlightPhase_COUNT] = {"starting",
                                                      "opening its files",
                                                      "looking for a checkpoint",
                                                      "taking up its state",
                                                      "in a step",
                                                      "validating",
                                                      "saving",
                                                      "ending",
                                                      "unknown"};
  return phase >= 0 && phase < FlightPhase_COUNT ? name[phase] : "?";
}
