/* judge.c -- a rank's own error comes before a lost connection, that before silence, that before a
 * standstill: each of these can be caused by the earlier ones. */
#include "runtime/watch/judge.h"

#include <string.h>

static Verdict earliest(const RankView *view, int32_t ranks, Loss loss) {
  Verdict found = {LOSS_NONE, -1};
  int64_t first_ms = INT64_MAX;
  for (int32_t i = 0; i < ranks; i++) {
    int64_t at_ms = loss == LOSS_ERROR ? view[i].failed : view[i].closed_ms;
    if (at_ms == 0 || at_ms >= first_ms || (loss == LOSS_DEAD && view[i].has_left)) continue;
    first_ms = at_ms;
    found = (Verdict){loss, i};
  }
  return found;
}

/* True if `passed_ms` without news are too long, of which the rank starved for `starved_ms`. */
static bool is_late(int64_t passed_ms, int64_t most_ms, int64_t starved_ms) {
  return passed_ms - starved_ms > most_ms || passed_ms > most_ms + JUDGE_STARVED_MS;
}

/* `excuses`: time without a processor does not count. */
static Verdict most_silent(const RankView *view, int32_t ranks, int64_t now_ms, bool excuses) {
  Verdict found = {LOSS_NONE, -1};
  int64_t first_ms = now_ms;
  for (int32_t i = 0; i < ranks; i++) {
    int64_t passed_ms = now_ms - view[i].heard_ms, starved_ms = excuses ? view[i].starved_ms : 0;
    if (!view[i].has_come || view[i].has_left || view[i].heard_ms >= first_ms ||
        !is_late(passed_ms, JUDGE_SILENT_MS, starved_ms))
      continue;
    first_ms = view[i].heard_ms;
    bool is_starved = passed_ms - view[i].starved_ms <= JUDGE_SILENT_MS;
    found = (Verdict){is_starved ? LOSS_STARVED : LOSS_SILENT, i};
  }
  return found;
}

/* The ranks of a lost node fall silent at about the same time. */
static bool is_away(const RankView *view, int64_t now_ms) {
  enum { APART_MS = 500 };
  if (!view->has_come || view->has_left) return false;
  return view->closed_ms > 0 ||
         now_ms - view->heard_ms - view->starved_ms > JUDGE_SILENT_MS - APART_MS;
}

bool judge_node_is_lost(const RankView *view, const char *const *node, int32_t rank_count,
                        int32_t rank, int64_t now_ms) {
  int32_t away = 0, others = 0;
  for (int32_t i = 0; i < rank_count; i++) {
    bool is_there = strcmp(node[i], node[rank]) == 0;
    if (is_there && !is_away(&view[i], now_ms)) return false;
    away += is_there;
    others += !is_there;
  }
  return away > 1 && others > 0;
}

uint32_t judge_waiting(const Plan *plan, const Beat *beat) {
  for (uint32_t lane = 0; lane < plan->lanes_count; lane++) {
    const FlightNow *now = &beat->lane[lane];
    if (now->is_running && now->record < plan->records_count &&
        plan->records[now->record].comm != PLAN_NONE)
      return lane;
  }
  return PLAN_LANES_MAX;
}

bool judge_is_member(const Plan *plan, const Mesh *mesh, const RankView *view, int32_t other,
                     uint32_t lane, int32_t rank) {
  const PlanRecord *record = &plan->records[view[other].beat.lane[lane].record];
  uint32_t mask = plan->comms[record->comm].axes_mask;
  return mesh_group(mesh, mask, other).group == mesh_group(mesh, mask, rank).group;
}

/* Members run the same list on a lane, so the number of records begun tells how far each has got.
 */
bool judge_has_arrived(const RankView *view, int32_t other, uint32_t lane, int32_t rank) {
  return view[rank].beat.lane[lane].begun >= view[other].beat.lane[lane].begun;
}

static bool is_in_step(const RankView *view) {
  return view->beat.phase == FLIGHT_STEP || view->beat.phase == FLIGHT_VALIDATING;
}

static bool waits_for_file(const Plan *plan, const Beat *beat) {
  for (uint32_t lane = 0; lane < plan->lanes_count; lane++) {
    const FlightNow *now = &beat->lane[lane];
    if (!now->is_running || now->record >= plan->records_count) continue;
    const uint32_t kind = plan->records[now->record].kind;
    if (kind == RECORD_READ || kind == RECORD_WRITE) return true;
  }
  return false;
}

static int64_t still_most_ms(const Plan *plan, const RankView *view) {
  int64_t most_ms = view->beat.usual_ns / 1000000 * JUDGE_STUCK_STEPS;
  if (most_ms < JUDGE_FILE_MS && waits_for_file(plan, &view->beat)) return JUDGE_FILE_MS;
  return most_ms < JUDGE_STUCK_LEAST_MS ? JUDGE_STUCK_LEAST_MS : most_ms;
}

/* The time since the rank moved during which it got no processor: as it reported itself, and as the
 * judge estimates since its last report. */
static int64_t still_starved_ms(const RankView *view) {
  return view->beat.starved_ms + view->starved_ms;
}

/* No rank has moved within the deadline, and all are in steps. */
static bool stands_still(const Plan *plan, const Mesh *mesh, const RankView *view, int64_t now_ms,
                         bool excuses) {
  for (int32_t i = 0; i < mesh->rank_count; i++) {
    int64_t starved_ms = excuses ? still_starved_ms(&view[i]) : 0;
    if (!view[i].has_come || view[i].has_left || !is_in_step(&view[i]) ||
        view[i].beat.usual_ns == 0 ||
        !is_late(now_ms - view[i].moved_ms, still_most_ms(plan, &view[i]), starved_ms))
      return false;
  }
  return true;
}

/* The rank that a rank in a communication waits for; -1: all have arrived. */
static int32_t awaited(const Plan *plan, const Mesh *mesh, const RankView *view, int32_t rank) {
  uint32_t lane = judge_waiting(plan, &view[rank].beat);
  for (int32_t i = 0; i < mesh->rank_count && lane < PLAN_LANES_MAX; i++)
    if (judge_is_member(plan, mesh, view, rank, lane, i) && !judge_has_arrived(view, rank, lane, i))
      return i;
  return -1;
}

/* Follows waiting ranks to one that waits for no other. If ranks wait in a cycle, the search stops
 * at one of the cycle after as many steps as there are ranks. */
static Verdict who_holds_up(const Plan *plan, const Mesh *mesh, const RankView *view) {
  for (int32_t i = 0; i < mesh->rank_count; i++)
    if (judge_waiting(plan, &view[i].beat) == PLAN_LANES_MAX) return (Verdict){LOSS_STUCK, i};
  int32_t rank = 0;
  for (int32_t i = 0; i < mesh->rank_count; i++) {
    int32_t next = awaited(plan, mesh, view, rank);
    if (next < 0) break;
    rank = next;
  }
  return (Verdict){LOSS_STUCK, rank};
}

static Verdict judge_late(const Plan *plan, const Mesh *mesh, const RankView *view, int64_t now_ms,
                          bool excuses) {
  Verdict found = most_silent(view, mesh->rank_count, now_ms, excuses);
  if (found.loss != LOSS_NONE || !stands_still(plan, mesh, view, now_ms, excuses)) return found;
  found = who_holds_up(plan, mesh, view);
  const RankView *blamed = &view[found.rank];
  if (now_ms - blamed->moved_ms - still_starved_ms(blamed) <= still_most_ms(plan, blamed))
    found.loss = LOSS_STARVED;
  return found;
}

Verdict judge(const Plan *plan, const Mesh *mesh, const RankView *view, int64_t now_ms) {
  Verdict found = earliest(view, mesh->rank_count, LOSS_ERROR);
  if (found.loss == LOSS_NONE) found = earliest(view, mesh->rank_count, LOSS_DEAD);
  return found.loss == LOSS_NONE ? judge_late(plan, mesh, view, now_ms, true) : found;
}

Verdict judge_starved(const Plan *plan, const Mesh *mesh, const RankView *view, int64_t now_ms) {
  Verdict found = judge_late(plan, mesh, view, now_ms, false);
  return found.loss == LOSS_STARVED ? found : (Verdict){LOSS_NONE, -1};
}
