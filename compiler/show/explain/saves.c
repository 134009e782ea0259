/* saves.c -- the block `checkpoint`: how large one is, how long it takes, and how often to save. */
#include "compiler/draft/cost/saves.h"

#include "compiler/show/explain/words.h"
#include "runtime/plan/interval.h"
#include "runtime/plan/plan_job.h"

bool explain_saves(const Compiled *compiled, Saves *saves) {
  const Job *job = compiled->job;
  return job->checkpoint.every.unit != UNIT_NEVER &&
         saves_of(&compiled->plan, job, compiled->cluster.nodes, saves);
}

/* The seconds between two saves of this job; 0: the job saves every N steps, and the time of a step
 * is unknown. */
static double every_seconds(const Compiled *compiled) {
  const Plan *plan = &compiled->plan;
  if (job_checkpoint_every_s(plan) > 0) return (double)job_checkpoint_every_s(plan);
  return (double)job_checkpoint_every_steps(plan) * step_seconds(compiled);
}

static double lost_share(const Saves *s, double every_s) {
  return interval_lost(every_s, s->stall_s, s->write_s, s->restart_s, s->failure_s);
}

void print_saves(const Compiled *compiled, const Saves *s, FILE *out) {
  Arena *arena = compiled->draft->compile->arena;
  fputs("\ncheckpoint\n", out);
  put_line(out, "size",
           arena_printf(arena, "%s in %s part%s, the largest %s; %s at %s/s (slurm.write)",
                        bytes_text(compiled, s->bytes), count_text(compiled, s->parts),
                        plural((uint64_t)s->parts), bytes_text(compiled, s->largest_part_bytes),
                        duration_text(compiled, s->write_s),
                        bytes_text(compiled, (int64_t)compiled->job->slurm.write)));
  if (s->snapshot_bytes > 0)
    put_line(out, "async",
             arena_printf(arena, "written from a copy, %s on a rank, while steps go on",
                          bytes_text(compiled, s->snapshot_bytes)));
  double every_s = every_seconds(compiled);
  if (every_s <= 0) return;
  if (s->failure_s <= 0) {
    put_line(out, "every",
             arena_printf(arena, "%s; cluster.mtbf = \"200d\", of a node, tells how often is best",
                          duration_text(compiled, every_s)));
    return;
  }
  put_line(out, "every",
           arena_printf(arena,
                        "%s, with a failure every %s: %.2g %% of the time lost; least is %.2g %%, "
                        "every %s",
                        duration_text(compiled, every_s), duration_text(compiled, s->failure_s),
                        100 * lost_share(s, every_s), 100 * lost_share(s, s->best_s),
                        duration_text(compiled, s->best_s)));
}

static void print_number(const char *name, double value, bool is_known, FILE *out) {
  if (is_known)
    fprintf(out, ",\"%s\":%.9g", name, value);
  else
    fprintf(out, ",\"%s\":null", name);
}

void print_saves_json(const Compiled *compiled, FILE *out) {
  Saves s;
  if (!explain_saves(compiled, &s)) {
    fputs(" \"checkpoint\":null,\n", out);
    return;
  }
  double every_s = every_seconds(compiled);
  fprintf(out, " \"checkpoint\":{\"bytes\":%lld,\"parts\":%lld,\"largest_part_bytes\":%lld",
          (long long)s.bytes, (long long)s.parts, (long long)s.largest_part_bytes);
  fprintf(out, ",\"snapshot_bytes\":%lld,\"stall_ns\":%.0f,\"write_ns\":%.0f",
          (long long)s.snapshot_bytes, s.stall_s * 1e9, s.write_s * 1e9);
  print_number("every_s", every_s, every_s > 0, out);
  print_number("best_every_s", s.best_s, s.best_s > 0, out);
  print_number("lost_share", s.best_s > 0 && every_s > 0 ? lost_share(&s, every_s) : 0,
               s.best_s > 0 && every_s > 0, out);
  fputs("},\n", out);
}
