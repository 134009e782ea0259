/* rank_asked.c -- requests by files (process/asked.h). Rank 0 looks for them about once a second;
 * the other ranks learn of them through the control values of a step. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "runtime/plan/plan_job.h"
#include "runtime/rank/rank_state.h"

static const int64_t EVERY_NS = 1000000000;

/* A batch system or a container may be given other processors while the run continues: the system
 * moves threads, bound ones too, and steps get slower without another sign. */
static void look_at_processors(Rank *rank) {
  char change[CGROUP_CHANGE_BYTES];
  CgroupCpus now = cgroup_cpus("");
  if (rank->has_cpus && cgroup_cpus_changed(&rank->cpus, &now, change))
    report_note(rank->report, "cores    the control group has changed: %s", change);
  rank->cpus = now;
  rank->has_cpus = true;
}

/* A request that was seen stays until it is done. */
void rank_look_for_requests(Rank *rank) {
  int64_t now_ns = rank_now_ns();
  if (rank->number != 0 || now_ns - rank->looked_ns < EVERY_NS) return;
  rank->looked_ns = now_ns;
  look_at_processors(rank);
  for (Asked what = 0; what < ASKED_COUNT; what++) {
    char path[ASKED_PATH_BYTES];
    const char *folder = job_run_dir(rank->plan);
    if (rank->asked[what] == ASKED_NOT && asked_path(folder, what, path) && access(path, F_OK) == 0)
      rank->asked[what] = ASKED_SEEN;
  }
}

/* A file that stayed would also be a request to the next start, and `save` would be one after every
 * step. */
void rank_request_done(Rank *rank, Asked what) {
  char path[ASKED_PATH_BYTES];
  if (rank->asked[what] == ASKED_NOT || rank->asked[what] == ASKED_STAYS) return;
  rank->asked[what] = ASKED_NOT;
  (void)asked_path(job_run_dir(rank->plan), what, path);
  if (unlink(path) == 0 || errno == ENOENT) return;
  rank->asked[what] = ASKED_STAYS;
  report_note(rank->report, "note     %s: %s; it asks for nothing more until it is removed", path,
              strerror(errno));
}
