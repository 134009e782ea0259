/* cores.c -- a plan's seats name processors; its places only count them among those that are
 * allowed. */
#include "runtime/boot/cores.h"

#include <ctype.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/plan/plan_job.h"
#include "runtime/plan/plan_place.h"

static void add_core(Cores *cores, int64_t core) {
  if (core < CORES_MAX && cores->count < CORES_MAX) cores->core[cores->count++] = (int32_t)core;
}

Cores cores_allowed(void) {
  Cores cores = {0};
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cores;
  for (int32_t core = 0; core < CPU_SETSIZE; core++)
    if (CPU_ISSET((size_t)core, &set)) add_core(&cores, core);
  return cores;
}

static bool take_number(const char **at, int64_t *number) {
  char *end;
  if (!isdigit((unsigned char)**at)) return false;
  *number = strtoll(*at, &end, 10);
  *at = end;
  return true;
}

bool cores_parse(const char *text, Cores *cores) {
  int64_t first, last;
  cores->count = 0;
  for (;; text++) {
    if (!take_number(&text, &first)) return false;
    last = first;
    if (*text == '-' && (text++, !take_number(&text, &last))) return false;
    if (last < first) return false;
    for (int64_t core = first; core <= last && core < CORES_MAX; core++)
      add_core(cores, core);
    if (*text != ',') return *text == 0;
  }
}

const char *cores_text(const Cores *cores, char text[CORES_TEXT_BYTES]) {
  size_t used = 0;
  *text = 0;
  for (int32_t i = 0; i < cores->count && used + 16 < CORES_TEXT_BYTES; i++) {
    int32_t first = cores->core[i];
    while (i + 1 < cores->count && cores->core[i + 1] == cores->core[i] + 1)
      i++;
    bool has_room = used + 32 < CORES_TEXT_BYTES;
    const char *format = !has_room ? "%s..." : cores->core[i] > first ? "%s%d-%d" : "%s%d";
    used += (size_t)snprintf(text + used, CORES_TEXT_BYTES - used, format, used > 0 ? "," : "",
                             first, cores->core[i]);
    if (!has_room) break;
  }
  return text;
}

bool cores_hold(const Cores *cores, int32_t core) {
  for (int32_t i = 0; i < cores->count; i++)
    if (cores->core[i] == core) return true;
  return false;
}

/* The seat's processors that are allowed here, if there is one for each thread. */
static bool sit(const PlanSeat *seat, const Plan *plan, const Cores *allowed, int32_t threads,
                Cores *own) {
  Cores named;
  if (seat == NULL || !cores_parse(plan_string(plan, seat->cores), &named)) return false;
  for (int32_t i = 0; i < named.count && own->count < threads; i++)
    if (cores_hold(allowed, named.core[i])) add_core(own, named.core[i]);
  if (own->count < threads) own->count = 0;
  return own->count > 0;
}

/* Ranks that the plan puts on several nodes would use the same cores of this machine. */
static bool is_planned(const Plan *plan, int32_t rank, Neighbours here) {
  uint32_t node = plan_place(plan, (uint32_t)rank).node;
  int32_t first = rank - here.before, last = first + here.count - 1;
  return first >= 0 && plan_place(plan, (uint32_t)first).node == node &&
         plan_place(plan, (uint32_t)last).node == node;
}

Cores cores_of_rank(const Plan *plan, int32_t rank, Neighbours here, const Cores *allowed) {
  Cores own = {0};
  int32_t threads = job_threads(plan) < 1 ? 1 : (int32_t)job_threads(plan);
  RankPlace place = plan_place(plan, (uint32_t)rank);
  if (is_planned(plan, rank, here) && sit(place.seat, plan, allowed, threads, &own)) return own;
  if (allowed->count != here.count * threads) return own;
  int64_t first = place.run->core_first + (int64_t)here.before * threads;
  for (int64_t i = first; i < first + threads && i < allowed->count; i++)
    add_core(&own, allowed->core[i]);
  if (own.count < threads) own.count = 0;
  return own;
}
