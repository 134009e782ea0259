/* preflight.c -- lockstep preflight: are this machine, or the nodes of the allocation that it is
 * called in, fit for a job? lockstep-rank looks and judges; this file starts it on every node. */
#include <errno.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/show/cli/cli.h"
#include "compiler/show/cli/command.h"
#include "compiler/show/cli/runs.h"
#include "runtime/plan/plan_io.h"

typedef struct PreflightLook {
  const char *rank, *plan, *folder; /* lockstep-rank; the plan; where lines go */
  const char *mpi;                  /* the word of srun --mpi= */
  bool is_full;
  double write_bs; /* slurm.write */
} PreflightLook;

static ExitCode save_line(const PreflightLook *look, const char *text) {
  char path[4200];
  snprintf(path, sizeof path, "%s/0.line", look->folder);
  FILE *out = fopen(path, "w");
  bool is_good = out && fputs(text, out) >= 0;
  if (out) is_good = fclose(out) == 0 && is_good;
  return is_good ? EXIT_DONE : complain(EXIT_WORLD, "%s: %s", path, strerror(errno));
}

/* One process a node of the allocation, or one here. */
static ExitCode ask_nodes(Arena *arena, const PreflightLook *look) {
  Command answer;
  const char *nodes = getenv("SLURM_JOB_NUM_NODES");
  const char *mpi = arena_printf(arena, "--mpi=%s", look->mpi);
  const char *output = arena_printf(arena, "--output=%s/%%t.line", look->folder);
  const char *full = look->is_full ? "full" : NULL;
  if (getenv("SLURM_JOB_ID") && nodes)
    command_run(&answer, (const char *const[]){"srun", mpi, "--ntasks-per-node=1", "--ntasks",
                                               nodes, "--nodes", nodes, output, look->rank,
                                               look->plan, "--preflight", full, NULL});
  else
    command_run(&answer, (const char *const[]){look->rank, look->plan, "--preflight", full, NULL});
  if (answer.code != 0)
    return complain((ExitCode)(answer.code <= EXIT_OURS ? answer.code : EXIT_WORLD), "%s",
                    command_text(arena, &answer));
  return getenv("SLURM_JOB_ID") && nodes ? EXIT_DONE : save_line(look, answer.out);
}

static ExitCode judge(Arena *arena, const PreflightLook *look, uint64_t id) {
  enum { WORDS = 5000 };
  glob_t lines = {0};
  const char **words = ARENA_ARRAY(arena, const char *, WORDS);
  int32_t count = 0;
  words[count++] = look->rank;
  words[count++] = look->plan;
  words[count++] = "--preflight-judge";
  words[count++] = arena_printf(arena, "%016llx", (unsigned long long)id);
  if (look->is_full) words[count++] = "--full";
  if (look->is_full) words[count++] = arena_printf(arena, "--write=%.0f", look->write_bs);
  if (glob(arena_printf(arena, "%s/*.line", look->folder), 0, NULL, &lines) != 0)
    return complain(EXIT_WORLD, "%s: no node has answered", look->folder);
  for (size_t i = 0; i < lines.gl_pathc && count < WORDS - 1; i++)
    words[count++] = lines.gl_pathv[i];
  Command answer;
  command_run(&answer, words);
  fputs(answer.out, answer.code == 0 ? stdout : stderr);
  fputs(answer.err, stderr);
  if (answer.code == 0)
    printf("%zu %s fit\n", lines.gl_pathc, lines.gl_pathc == 1 ? "machine is" : "nodes are");
  for (size_t i = 0; i < lines.gl_pathc; i++)
    (void)unlink(lines.gl_pathv[i]);
  globfree(&lines);
  return (ExitCode)(answer.code <= EXIT_OURS ? answer.code : EXIT_WORLD);
}

/* In the run folder, which all nodes see. */
static ExitCode look_at(Compile *c, Compiled *compiled) {
  char programs[4096], why[PLAN_WHY_BYTES] = "";
  const char *folder = compiled->job->log.dir;
  PreflightLook look = {.folder = arena_printf(c->arena, "%s/preflight.%d", folder, (int)getpid()),
                        .mpi = compiled->job->slurm.mpi,
                        .is_full = compiled->job->slurm.preflight == CHOICE_PREFLIGHT_FULL,
                        .write_bs = compiled->job->slurm.write};
  look.plan = arena_printf(c->arena, "%s/%s.plan", look.folder, compiled->job->job.name);
  if (!own_folder(programs, sizeof programs)) return complain(EXIT_WORLD, "/proc is not mounted");
  look.rank = arena_printf(c->arena, "%s/lockstep-rank", programs);
  const char *checkpoints = compiled->job->checkpoint.path; /* nodes check that it is there */
  size_t there = folders_there(c->arena, look.folder),
         saved_there = folders_there(c->arena, checkpoints);
  if (!folder_and_above(c->arena, look.folder))
    return complain(EXIT_WORLD, "%s: %s", look.folder, strerror(errno));
  ExitCode code = EXIT_DONE;
  if (!plan_write(&compiled->plan, look.plan, why)) code = complain(EXIT_WORLD, "%s", why);
  if (code == EXIT_DONE) code = ask_nodes(c->arena, &look);
  if (code == EXIT_DONE || code == EXIT_WORLD) { /* their lines may say which node it was */
    ExitCode judged = judge(c->arena, &look, plan_compute_id(&compiled->plan));
    if (code == EXIT_DONE) code = judged;
  }
  (void)unlink(look.plan);
  folders_remove(c->arena, checkpoints, saved_there);
  folders_remove(c->arena, look.folder, there);
  return code;
}

ExitCode verb_preflight(const Options *options) {
  Compile *c = open_compile();
  if (!c) return EXIT_WORLD;
  Compiled compiled;
  bool is_good = compile_job(c, options, &compiled);
  ExitCode code = report(c, options);
  if (is_good && code == EXIT_DONE) code = look_at(c, &compiled);
  compile_free(c);
  return code;
}
