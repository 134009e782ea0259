/* script.c -- prints a launch as a batch script, and for `explain --launch`. */
#include "slurm/script.h"

#include <errno.h>
#include <string.h>

#include "slurm/quote.h"

enum { COMMENT_COLUMN = 44, SCREEN_COLUMNS = 80 };

/* A comment is always one line, so line breaks in its text are replaced. */
static const char *one_line(Arena *arena, const char *text) {
  char *line = arena_copy(arena, text_plain(arena, text));
  for (char *p = line; *p; p++)
    if (*p == '\n') *p = ' ';
  return line;
}

/* "text      # why" */
static void print_commented(FILE *out, const char *text, const char *why) {
  fprintf(out, "%-*s # %s\n", COMMENT_COLUMN, text, why);
}

static const char *joined(Arena *arena, const LaunchLine *line, const char *value) {
  return arena_printf(arena, "%s%s%s", line->name, value ? "=" : "", value ? value : "");
}

/* Prints the user's reason as comments, one for each of its lines. */
static void print_reason(Arena *arena, const char *reason, FILE *out) {
  const char *plain = text_plain(arena, reason);
  fputs("# reason: ", out);
  for (; *plain; plain++) {
    if (*plain == '\n')
      fputs("\n# ", out);
    else
      fputc(*plain, out);
  }
  fputc('\n', out);
}

static uint32_t crc_add(uint32_t sum, int byte, uint32_t polynomial) {
  sum ^= (uint32_t)byte << 24;
  for (int bit = 0; bit < 8; bit++)
    sum = sum & 0x80000000u ? sum << 1 ^ polynomial : sum << 1;
  return sum;
}

/* The CRC and bytes that `cksum FILE` prints (POSIX). "" when the file cannot be read. */
static const char *file_sum(Arena *arena, const char *path) {
  enum { POLYNOMIAL = 0x04c11db7 };
  uint32_t sum = 0;
  int64_t size_bytes = 0;
  FILE *file = fopen(path, "rb");
  if (!file) return "";
  for (int byte; (byte = getc(file)) != EOF; size_bytes++)
    sum = crc_add(sum, byte, POLYNOMIAL);
  fclose(file);
  for (int64_t left = size_bytes; left > 0; left >>= 8)
    sum = crc_add(sum, (int)(left & 0xff), POLYNOMIAL);
  return arena_printf(arena, " (cksum %lld %lld)", (long long)(uint32_t)~sum,
                      (long long)size_bytes);
}

static void print_head(Compile *c, const Launch *launch, const char *command, FILE *out) {
  const Job *job = launch->job;
  fprintf(out,
          "#!/bin/bash\n"
          "# %s: made by lockstep %s from %s%s. Change that, not this.\n"
          "# by: %s\n"
          "# plan %016llx, %lld rank%s on %lld node%s, in %s\n",
          job->job.name, LOCKSTEP_VERSION, one_line(c->arena, job->path),
          file_sum(c->arena, job->path), command, (unsigned long long)launch->plan_id,
          (long long)launch->ranks, plural(launch->ranks), (long long)launch->nodes,
          plural(launch->nodes), one_line(c->arena, launch->plan_path));
  if (job->set[FIELD_job_reason]) print_reason(c->arena, job->job.reason, out);
  for (int32_t i = 0; i < launch->directives.count; i++) {
    const LaunchLine *line = &launch->directives.at[i];
    const char *value = line->value ? quote_directive(c->arena, line->value) : NULL;
    print_commented(out, arena_printf(c->arena, "#SBATCH %s", joined(c->arena, line, value)),
                    one_line(c->arena, line->why));
  }
  if (launch->chain > 1)
    fprintf(out, "# one of %lld jobs, each --dependency=afterany of the one before: %s\n",
            (long long)launch->chain, one_line(c->arena, launch->waits.at[0].why));
}

/* ---- variables of the fixed half */

static void print_word(Compile *c, const char *name, const char *text, FILE *out) {
  fprintf(out, "%s=%s\n", name, quote_shell(c->arena, text));
}

static void print_number(const char *name, int64_t number, FILE *out) {
  fprintf(out, "%s=%lld\n", name, (long long)number);
}

static void print_list(Compile *c, const char *name, const TextList *list, FILE *out) {
  fprintf(out, "%s=(", name);
  for (int32_t i = 0; i < list->count; i++)
    fprintf(out, "%s%s", i ? " " : "", quote_shell(c->arena, list->at[i]));
  fputs(")\n", out);
}

static void print_step(Compile *c, const Launch *launch, FILE *out) {
  fputs("step=(\n", out);
  for (int32_t i = 0; i < launch->step.count; i++) {
    const LaunchLine *line = &launch->step.at[i];
    const char *word = quote_shell(c->arena, joined(c->arena, line, line->value));
    print_commented(out, arena_printf(c->arena, "  %s", word), one_line(c->arena, line->why));
  }
  fputs(")\n", out);
}

/* Apptainer is a command before the program; pyxis is options of srun. */
static TextList container_words(Compile *c, const Job *job) {
  TextList words = {0};
  if (job->set[FIELD_slurm_container] && job->slurm.container_by == CHOICE_APPTAINER) {
    VEC_PUSH(c->arena, &words, "apptainer");
    VEC_PUSH(c->arena, &words, "exec");
    if (job->slurm.gpus != CHOICE_GPUS_NONE) VEC_PUSH(c->arena, &words, "--nv");
    for (int32_t i = 0; i < job->slurm.mounts.count; i++) {
      VEC_PUSH(c->arena, &words, "--bind");
      VEC_PUSH(c->arena, &words, job->slurm.mounts.at[i]);
    }
    VEC_PUSH(c->arena, &words, job->slurm.container);
  }
  return words;
}

/* The signal that ranks wait for; srun passes it on. The script itself gets USR1 before the limit.
 */
static const char *rank_signal(const Job *job) {
  static const char *const names[] = {
      [CHOICE_USR1] = "USR1", [CHOICE_USR2] = "USR2", [CHOICE_TERM] = "TERM"};
  return names[job->checkpoint.signal];
}

/* The options of sbatch that the job sets, and the variables: what is of another job is cleared. */
static void print_own(Compile *c, const Launch *launch, FILE *out) {
  TextList own = {0};
  for (int32_t i = 0; i < launch->directives.count; i++)
    VEC_PUSH(c->arena, &own, launch->directives.at[i].name + strlen("--"));
  for (int32_t i = 0; i < launch->environment.count; i++)
    VEC_PUSH(c->arena, &own, launch->environment.at[i].name);
  print_list(c, "job_sets", &own, out);
}

/* "3:3:0123456789abcdef:runs/job/job.3.plan": nodes, ranks, id and file of each plan. */
static void print_fewer(Compile *c, const Launch *launch, FILE *out) {
  TextList plans = {0};
  for (int32_t i = 0; i < launch->fewer.count; i++) {
    const LaunchFewer *fewer = &launch->fewer.at[i];
    if (fewer->plan == NULL) continue;
    VEC_PUSH(c->arena, &plans,
             arena_printf(c->arena, "%lld:%lld:%016llx:%s", (long long)fewer->nodes,
                          (long long)fewer->ranks, (unsigned long long)fewer->plan_id,
                          fewer->plan_path));
  }
  print_list(c, "fewer", &plans, out);
}

static void print_variables(Compile *c, const Launch *launch, FILE *out) {
  static const char *const looks[] = {[CHOICE_PREFLIGHT_FULL] = "full",
                                      [CHOICE_PREFLIGHT_QUICK] = "quick",
                                      [CHOICE_PREFLIGHT_OFF] = "off"};
  const Job *job = launch->job;
  TextList inside = container_words(c, job);
  fputs("\n# shellcheck disable=SC2016 # texts in single quotes are meant literally\n", out);
  print_word(c, "programs", launch->programs, out);
  print_word(c, "plan", launch->plan_path, out);
  fprintf(out, "plan_id=%016llx\n", (unsigned long long)launch->plan_id);
  print_word(c, "run", job->log.dir, out);
  print_word(c, "checkpoints", launch->saves ? job->checkpoint.path : "", out);
  print_word(c, "signal", rank_signal(job), out);
  print_number("nodes", launch->nodes, out);
  print_number("ranks", launch->ranks, out);
  print_number("devices", launch->devices, out);
  print_list(c, "hosts", &launch->hosts, out);
  print_number("needs_hosts", launch->needs_hosts, out);
  print_number("spares", job->slurm.spares, out);
  print_fewer(c, launch, out);
  print_number("retries", job->slurm.retries, out);
  print_number("requeue", job->slurm.requeue, out);
  print_number("limit_s", (int64_t)job->slurm.time.value, out);
  fprintf(out, "price=%.15g\n", job->set[FIELD_cluster_price] ? job->cluster.price.value : 0.0);
  print_word(c, "preflight", looks[job->slurm.preflight], out);
  fprintf(out, "write=%.0f\n", job->slurm.write);
  print_number("purge", job->slurm.purge, out);
  print_list(c, "modules", &job->slurm.modules, out);
  print_list(c, "setup", &job->slurm.setup, out);
  print_own(c, launch, out);
  print_list(c, "inside", &inside, out);
  print_list(c, "wrap", &job->slurm.wrap, out);
  print_step(c, launch, out);
}

static void print_environment(Compile *c, const Launch *launch, FILE *out) {
  fputs("\n", out);
  for (int32_t i = 0; i < launch->environment.count; i++) {
    const LaunchLine *line = &launch->environment.at[i];
    const char *value = quote_shell(c->arena, line->value ? line->value : "");
    print_commented(out, arena_printf(c->arena, "export %s=%s", line->name, value),
                    text_plain(c->arena, line->why));
  }
}

/* ---- the fixed half */

bool script_print(Compile *c, const Launch *launch, const char *command, FILE *out) {
  const char *path = arena_printf(c->arena, "%s/../slurm/batch.bash", c->specs_dir);
  FILE *fixed = fopen(path, "r");
  if (!fixed)
    return error_at(c, (Span){.file = path}, "no-file",
                    "the library lacks its half of the script: %s", strerror(errno));
  print_head(c, launch, command, out);
  print_variables(c, launch, out);
  print_environment(c, launch, out);
  char line[4096];
  bool is_text = false;
  while (fgets(line, sizeof line, fixed)) { /* without the comment at its head */
    is_text |= *line == '\n';
    if (is_text) fputs(line, out);
  }
  fclose(fixed);
  return true;
}

/* ---- for explain --launch */

static void print_lines(Compile *c, const char *head, const LaunchLines *lines, FILE *out) {
  enum { WHY_COLUMN = 36 };
  fprintf(out, "%s\n", head);
  for (int32_t i = 0; i < lines->count; i++) {
    const LaunchLine *line = &lines->at[i];
    int32_t column =
        fprintf(out, "  %s", text_plain(c->arena, joined(c->arena, line, line->value)));
    if (column >= WHY_COLUMN) column = fprintf(out, "\n") - 1;
    fprintf(out, "%*s", WHY_COLUMN - column, "");
    print_wrapped(out, text_plain(c->arena, line->why), WHY_COLUMN, WHY_COLUMN, SCREEN_COLUMNS);
  }
}

/* The plans for fewer nodes, and why there is none for others. */
static void print_elastic(Compile *c, const Launch *launch, FILE *out) {
  enum { WHY_COLUMN = 12 };
  fprintf(out, "nodes that fail: the run goes on with fewer (slurm.elastic)\n");
  for (int32_t i = 0; i < launch->fewer.count; i++) {
    const LaunchFewer *fewer = &launch->fewer.at[i];
    int32_t column = fprintf(out, "  %lld node%s", (long long)fewer->nodes, plural(fewer->nodes));
    fprintf(out, "%*s", column < WHY_COLUMN ? WHY_COLUMN - column : 1, "");
    const char *text =
        fewer->plan ? arena_printf(c->arena, "%lld rank%s, plan %016llx", (long long)fewer->ranks,
                                   plural(fewer->ranks), (unsigned long long)fewer->plan_id)
                    : arena_printf(c->arena, "no: %s", fewer->why);
    print_wrapped(out, one_line(c->arena, text), WHY_COLUMN, WHY_COLUMN, SCREEN_COLUMNS);
  }
}

void launch_print(Compile *c, const Launch *launch, FILE *out) {
  const Job *job = launch->job;
  print_lines(c, "sbatch", &launch->directives, out);
  print_lines(c, "srun, once for all ranks", &launch->step, out);
  print_lines(c, "environment", &launch->environment, out);
  fprintf(out, "before ranks start: %s; slurm.preflight\n",
          job->slurm.preflight == CHOICE_PREFLIGHT_OFF    ? "nodes are not looked at"
          : job->slurm.preflight == CHOICE_PREFLIGHT_FULL ? "a full look at nodes"
                                                          : "a quick look at nodes");
  if (launch->chain > 1)
    print_lines(c,
                arena_printf(c->arena, "a chain of %lld jobs, each waits for the one before",
                             (long long)launch->chain),
                &launch->waits, out);
  fprintf(out, "a failure: %lld retr%s in the allocation%s\n", (long long)job->slurm.retries,
          job->slurm.retries == 1 ? "y" : "ies",
          job->slurm.requeue ? ", then back into the queue" : "");
  if (launch->fewer.count > 0) print_elastic(c, launch, out);
  fprintf(out, "the limit: ranks %s, then %s\n", launch->saves ? "save" : "stop",
          !launch->saves       ? "the job ends: checkpoint.every is \"never\""
          : launch->chain > 1  ? "the next job of the chain goes on"
          : job->slurm.requeue ? "back into the queue"
                               : "the job ends; slurm.requeue or slurm.chain goes on");
}
