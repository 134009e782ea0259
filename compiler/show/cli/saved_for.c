/* saved_for.c -- lockstep checkpoint verify --for JOB.lua: whether and how that job would continue
 * from the checkpoint. */
#include <string.h>

#include "compiler/show/cli/saved.h"

enum { CHANGES_BYTES = 4096 };

/* The result of asking whether a job can resume from the checkpoint. */
typedef struct Outlook {
  bool goes_on;
  const char *why;             /* it does not; else "" */
  char changes[CHANGES_BYTES]; /* of all keys, or "" */
  int64_t ranks, bytes_a_rank; /* each block is read once, by a rank that wants it */
  double read_s;               /* of all, at slurm.write */
} Outlook;

static const uint32_t experiment = 1u << SETTING_EXPERIMENT | 1u << SETTING_MODEL;
static const uint32_t everything = (1u << SettingEffect_COUNT) - 1;

/* The same data are meant by the same path: the ranks compare their content. */
static uint64_t data_of(const Checkpoint *checkpoint, const Plan *plan) {
  const char *before = saved_setting(&checkpoint->manifest.plan, PLAN_DATA_KEY);
  const char *after = saved_setting(plan, PLAN_DATA_KEY);
  uint64_t sum = checkpoint->manifest.run.data_sum;
  return before && after && strcmp(before, after) == 0 ? sum : ~sum;
}

static void judge(Arena *arena, const Checkpoint *checkpoint, const Plan *plan,
                  const CheckpointChanges *changes, Outlook *o) {
  char other[CHANGES_BYTES];
  Status status = {0};
  const Manifest *manifest = &checkpoint->manifest;
  (void)checkpoint_changes_text(changes, everything, false, o->changes, sizeof o->changes);
  if (!checkpoint_match(checkpoint, plan, changes, &status))
    o->why = arena_copy(arena, status.text);
  else if (checkpoint_changes_text(changes, experiment, false, other, sizeof other) > 0)
    o->why = arena_printf(arena, "it is of another experiment: %s; --resume anyway goes on", other);
  else if (manifest->facts.step >= job_steps(plan))
    o->why = arena_printf(arena, "nothing is left to do: it is at step %s, the job ends at %s",
                          format_count(arena, manifest->facts.step),
                          format_count(arena, job_steps(plan)));
  o->goes_on = *o->why == 0;
}

static void print_outlook(Arena *arena, const Options *options, const Outlook *o) {
  if (options->json) {
    printf(", \"for\": {\"goes_on\": %s, \"why\": ", o->goes_on ? "true" : "false");
    print_json_text(o->why, stdout);
    fputs(", \"changes\": ", stdout);
    print_json_text(o->changes, stdout);
    printf(", \"ranks\": %lld, \"bytes_a_rank\": %lld, \"read_s\": %.6g}", (long long)o->ranks,
           (long long)o->bytes_a_rank, o->read_s);
    return;
  }
  const char *job = text_plain(arena, options->job);
  if (!o->goes_on) {
    print_wrapped(stdout, arena_printf(arena, "%s would not go on: %s", job, o->why), 0, 4,
                  COLUMNS_MOST);
    return;
  }
  print_wrapped(stdout,
                arena_printf(arena, "%s would go on%s%s: %s rank%s read %s each, %s at slurm.write",
                             job, *o->changes ? " with changes: " : "", o->changes,
                             format_count(arena, o->ranks), plural((uint64_t)o->ranks),
                             format_bytes(arena, o->bytes_a_rank),
                             format_seconds(arena, o->read_s)),
                0, 4, COLUMNS_MOST);
}

ExitCode saved_judge_job(Compile *c, const Options *options, const Checkpoint *checkpoint) {
  Options of_job = *options;
  Compiled compiled;
  CheckpointChanges changes;
  Status status = {0};
  of_job.words = (Words){.at = {options->job}, .count = 1};
  of_job.no_data = true;
  of_job.json = false;
  if (!compile_job(c, &of_job, &compiled)) return report(c, &of_job);
  const Plan *plan = &compiled.plan;
  if (!checkpoint_changes(checkpoint, plan, data_of(checkpoint, plan), &changes, &status))
    return complain(EXIT_WORLD, "%s", status.text);
  Outlook *o = ARENA_NEW(c->arena, Outlook);
  int64_t bytes = saved_bytes(&checkpoint->manifest);
  o->why = "";
  o->ranks = compiled.cluster.ranks;
  o->bytes_a_rank = (bytes + o->ranks - 1) / o->ranks;
  o->read_s = (double)bytes / compiled.job->slurm.write;
  judge(c->arena, checkpoint, plan, &changes, o);
  print_outlook(c->arena, options, o);
  checkpoint_changes_free(&changes);
  return o->goes_on ? EXIT_DONE : EXIT_USER;
}
