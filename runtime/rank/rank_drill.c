/* rank_drill.c -- the first checkpoint of a run is read back as a resume would read it, past the
 * page cache, and compared with memory: a disk or a format that does not keep what it was given is
 * found after one step and not after a failure. */
#include <stdlib.h>
#include <string.h>

#include "runtime/plan/plan_job.h"
#include "runtime/process/plural.h"
#include "runtime/process/text.h"
#include "runtime/rank/rank_state.h"

static const double LONG_S = 3600; /* "auto" drills runs that are expected to last longer */

/* On rank 0, after the first step. Later starts of the same plan have had their drill. */
static bool is_wanted(const Rank *rank) {
  const PlanSetting *drill = plan_setting(rank->plan, "checkpoint.drill");
  const char *word = drill != NULL ? plan_string(rank->plan, drill->text) : "off";
  const Checkpoint *from = &rank->start.checkpoint;
  if (strcmp(word, "on") == 0) return true;
  if (strcmp(word, "auto") != 0) return false;
  if (rank->start.resumes && from->manifest.run.plan_id == rank->plan->id) return false;
  double step_s = (double)rank->first_step_ns / 1e9;
  return step_s * (double)(rank->run->last_step - rank->ended) > LONG_S;
}

/* Sums over all ranks. */
typedef struct Drilled {
  int64_t bytes;  /* of this rank's part */
  int64_t cached; /* the bytes of them that the system did not drop from its cache */
} Drilled;

static bool sum_up(Rank *rank, Drilled *all, Status *status) {
  Drilled own = *all, *each = calloc((size_t)rank->run->mesh.rank_count, sizeof *each);
  if (each == NULL) return status_fail(status, STATUS_WORLD, "not enough memory for the drill");
  bool told = rank->comm->ops->gather_bytes(rank->comm, &own, each, sizeof own);
  *all = (Drilled){0};
  for (int32_t i = 0; told && i < rank->run->mesh.rank_count; i++) {
    all->bytes += each[i].bytes;
    all->cached += each[i].cached;
  }
  free(each);
  if (!told) status->code = STATUS_ECHO;
  return told;
}

/* All ranks find the checkpoint, load it and compare. */
static bool read_back(Rank *rank, Status *status) {
  const Run *run = rank->run;
  Checkpoint *saved = calloc(1, sizeof *saved);
  CheckpointFault fault = CHECKPOINT_WHOLE;
  int64_t below = INT64_MAX;
  CheckpointSearch search = {.plan = rank->plan,
                             .mesh = &run->mesh,
                             .rank = rank->number,
                             .comm = rank->comm,
                             .path = rank->saved_path,
                             .below = &below};
  CheckpointTarget target = {.device = rank->replay.device,
                             .arena = rank->arena.base,
                             .class = rank->replay.class,
                             .compares = true};
  if (saved == NULL) return status_fail(status, STATUS_WORLD, "not enough memory for the drill");
  rank_allow_arenas(rank, true);
  bool is_same = checkpoint_find(&search, saved, &fault, status) &&
                 checkpoint_restore(&search, saved, &target, &fault, status);
  rank_allow_arenas(rank, false);
  checkpoint_close(saved);
  free(saved);
  if (!is_same && status->code == STATUS_USER) status->code = STATUS_WORLD; /* not the job's */
  return is_same;
}

static void tell(const Rank *rank, const Drilled *all, int64_t save_ns, int64_t read_ns) {
  char size[QUANTITY_BYTES], written[QUANTITY_BYTES], read[QUANTITY_BYTES], cached[QUANTITY_BYTES];
  double save_s = (double)save_ns / 1e9, read_s = (double)read_ns / 1e9;
  double restart_s = (double)(rank->first_step_begun_ns - rank->begun_ns) / 1e9;
  if (!rank->start.resumes) restart_s += read_s;
  report_note(rank->report,
              "drill    %s written at %s/s while ranks waited %.3g s, read back at %s/s in %.3g s, "
              "and equal to memory; a restart takes %.3g s",
              text_bytes(size, (double)all->bytes),
              text_bytes(written, (double)all->bytes / save_s), save_s,
              text_bytes(read, (double)all->bytes / read_s), read_s, restart_s);
  if (all->cached > 0)
    report_note(rank->report,
                "note     %s of it stayed in the page cache, which this file system does not drop: "
                "the disk was not read for these",
                text_bytes(cached, (double)all->cached));
}

bool rank_drill(Rank *rank, Status *status) {
  bool wanted = rank->number == 0 && rank_checkpoints(rank) && is_wanted(rank);
  int64_t step = rank->ended;
  if (!rank->comm->ops->broadcast_bytes(rank->comm, 0, &wanted, sizeof wanted)) {
    status->code = STATUS_ECHO;
    return false;
  }
  if (!wanted) return true;
  int64_t start_ns = rank_now_ns();
  if (!rank_async_end(rank, status) || !rank_save(rank, step, true, status)) return false;
  int64_t saved_ns = rank_now_ns();
  rank_note_phase(rank, FLIGHT_RESTORING, step);
  Drilled all = {.cached = checkpoint_drop_cache(&rank->store, step, &all.bytes)};
  if (!sum_up(rank, &all, status)) return false;
  int64_t read_ns = rank_now_ns();
  if (!read_back(rank, status)) return false;
  if (rank->number == 0) tell(rank, &all, saved_ns - start_ns, rank_now_ns() - read_ns);
  return true;
}
