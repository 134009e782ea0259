/* LINK: slurm search -- whole scripts of jobs in which every text is hostile: bash gets each of
 * them as one word and runs nothing, sbatch gets the directives of the launch and no other. Equal
 * input makes an equal script. slurm_script_test [SPECS]    10,000 of them unless told */
#include <stdlib.h>
#include <unistd.h>

#include "compiler/job/data.h"
#include "compiler/search/fit.h"
#include "slurm/quote.h"
#include "slurm/script.h"
#include "tests/unit/check.h"
#include "tests/unit/hostile_text.h"

static const char specs_dir[] = "../../../specs";
static char folder[] = "/tmp/script.XXXXXX";

/* As Lua reads it back. */
static const char *lua_text(Arena *arena, const char *text) {
  const char *out = "\"";
  for (const char *p = text; *p; p++)
    out = arena_printf(arena, "%s\\%03d", out, (unsigned char)*p);
  return arena_printf(arena, "%s\"", out);
}

/* A tab is refused, so few of the texts have one. */
static const char *any_text(Arena *arena) {
  char *text = arena_printf(arena, "%s.", hostile_text(arena));
  for (char *p = text; *p; p++)
    if (*p == '\t' && hostile_number(100) > 0) *p = ' ';
  return lua_text(arena, text);
}

static const char *write_job(Arena *arena) {
  const char *path = arena_printf(arena, "%s/job.lua", folder);
  FILE *file = fopen(path, "w");
  fputs("return job {\n"
        "  model = { \"gpt2\", layers = 1, width = 32, heads = 2, vocab = 64, positions = 16 },\n"
        "  data = \"synthetic\", train = { batch = \"8 sequences\", steps = 4 },\n"
        "  optimizer = { \"adamw\", lr = 1e-3 }, cluster = \"dgx-h100\",\n",
        file);
  fprintf(file, "  reason = %s,\n  slurm = { time = \"2h\",\n", any_text(arena));
  static const char *const texts[] = {"partition", "account",  "qos", "exclude",
                                      "container", "gpu_type", "mpi"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    fprintf(file, "    %s = %s,\n", texts[i], any_text(arena));
  static const char *const lists[] = {"modules", "mounts", "wrap", "setup"};
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
    fprintf(file, "    %s = { %s, %s },\n", lists[i], any_text(arena), any_text(arena));
  fprintf(file, "    container_by = \"%s\",\n", hostile_number(2) ? "pyxis" : "apptainer");
  fprintf(file, "    env = { FIRST = %s },\n", any_text(arena));
  fprintf(file, "    sbatch = { comment = %s, constraint = %s },\n", any_text(arena),
          any_text(arena));
  fprintf(file, "    srun = { [\"container-workdir\"] = %s } } }\n", any_text(arena));
  fclose(file);
  return path;
}

/* ---- what sbatch reads */

static const char *joined(Arena *arena, const LaunchLine *line) {
  return arena_printf(arena, "%s%s%s", line->name, line->value ? "=" : "",
                      line->value ? line->value : "");
}

/* Every line of the head is a comment, and the directives are those of the launch. */
static bool is_head_right(Arena *arena, const Launch *launch, const char *script) {
  int32_t directives = 0;
  bool good = strncmp(script, "#!/bin/bash\n", strlen("#!/bin/bash\n")) == 0;
  for (const char *line = script; *line != '\n'; line += strcspn(line, "\n") + 1) {
    good &= *line == '#';
    if (strncmp(line, "#SBATCH", strlen("#SBATCH")) != 0) continue;
    const char *text = arena_copy_n(arena, line, strcspn(line, "\n"));
    good &= directives < launch->directives.count &&
            strcmp(sbatch_argument(arena, text + strlen("#SBATCH ")),
                   joined(arena, &launch->directives.at[directives])) == 0;
    directives++;
  }
  return good && directives == launch->directives.count;
}

/* ---- what bash reads */

typedef struct Bash {
  Arena *arena;
  FILE *script, *want; /* what it runs; what it must print */
} Bash;

static void expect(Bash *bash, const char *word, const char *text) {
  fprintf(bash->script, "printf '%%s\\0' %s\n", word);
  fwrite(text, 1, strlen(text) + 1, bash->want);
}

static void expect_list(Bash *bash, const char *name, const TextList *list) {
  expect(bash, arena_printf(bash->arena, "\"${#%s[@]}\"", name),
         arena_printf(bash->arena, "%d", list->count));
  for (int32_t i = 0; i < list->count; i++)
    expect(bash, arena_printf(bash->arena, "\"${%s[%d]}\"", name, i), list->at[i]);
}

/* The half that the job makes, then a look at what it has set. */
static void ask_bash(Bash *bash, const Launch *launch, const char *script, const char *word) {
  const Job *job = launch->job;
  TextList step = {0};
  for (int32_t i = 0; i < launch->step.count; i++)
    VEC_PUSH(bash->arena, &step, joined(bash->arena, &launch->step.at[i]));
  const char *end = strstr(script, "\nset -eEuo pipefail\n"), *by = strstr(script, "\n# by: ");
  CHECK(end != NULL && by != NULL);
  if (end) fwrite(script, 1, (size_t)(end - script) + 1, bash->script);
  if (by) fprintf(bash->script, "set -- %.*s\n", (int)strcspn(by + 7, "\n"), by + 7);
  expect(bash, "\"$3\"", word);
  expect_list(bash, "step", &step);
  expect_list(bash, "modules", &job->slurm.modules);
  expect_list(bash, "wrap", &job->slurm.wrap);
  expect(bash, "\"$programs\"", launch->programs);
  expect(bash, "\"$FIRST\"", job->slurm.env.at[0].text);
  if (job->slurm.container_by == CHOICE_APPTAINER)
    expect(bash, "\"${inside[-1]}\"", job->slurm.container);
}

/* ---- one spec */

static void print_script(Compile *c, const Launch *launch, const char *word, char **text) {
  size_t size = 0;
  FILE *out = open_memstream(text, &size);
  const char *command = arena_printf(c->arena, "lockstep sbatch %s", quote_line(c->arena, word));
  script_print(c, launch, command, out);
  fclose(out);
}

static bool check_spec(Bash *bash, const Compiled *compiled) {
  Compile *c = compile_new(specs_dir);
  Compiled one = *compiled;
  const char *path = write_job(c->arena);
  one.job = spec_load(c, path, NULL, 0);
  const Launch *launch = one.job ? launch_make(c, &one, "/a b/$(touch pwned)") : NULL;
  if (!launch) { /* what holds a tab, for one, is refused */
    bool is_said = c->diags.error_count > 0;
    compile_free(c);
    CHECK(is_said);
    return false;
  }
  char *script = NULL, *again = NULL;
  const char *word = arena_printf(c->arena, "%s%s", hostile_text(c->arena),
                                  hostile_number(2) ? "\n#SBATCH --nodes=9\x1b\xff" : "'");
  print_script(c, launch, word, &script);
  print_script(c, launch, word, &again);
  CHECK(is_head_right(c->arena, launch, script));
  CHECK(strcmp(script, again) == 0);
  bash->arena = c->arena;
  ask_bash(bash, launch, script, word);
  free(script);
  free(again);
  compile_free(c);
  return true;
}

static Compiled compile_base(Compile *c) {
  Compiled compiled = {0};
  const Machine machine = {.memory_bytes = (int64_t)1 << 33, .cores = 4};
  const char *overrides[] = {"slurm=plain"};
  Job *job = spec_load(c, write_job(c->arena), overrides, 1);
  CHECK(job && spec_data(c, job) && fit_plan(c, job, &machine, &compiled));
  diags_print(&c->diags, stdout, false);
  return compiled;
}

int main(int count, char **word) {
  int32_t specs = count > 1 ? atoi(word[1]) : 10000, made = 0;
  if (!mkdtemp(folder)) return 77;
  Compile *base = compile_new(specs_dir);
  Compiled compiled = compile_base(base);
  const char *path = arena_printf(base->arena, "%s/script", folder);
  const char *want = arena_printf(base->arena, "%s/want", folder);
  Bash bash = {.script = fopen(path, "w"), .want = fopen(want, "w")};
  fprintf(bash.script, "cd '%s' || exit 1\n", folder);
  TEST("sbatch gets the directives of the launch and no other")
  for (int32_t i = 0; i < specs && check_failures == 0; i++)
    made += check_spec(&bash, &compiled);
  fclose(bash.script);
  fclose(bash.want);
  TEST("bash gets each text as a single word, and runs nothing of it") {
    CHECK(made > specs / 4);
    CHECK_INT(system(arena_printf(base->arena, "bash %s | cmp - %s", path, want)), 0);
    CHECK_INT(access(arena_printf(base->arena, "%s/pwned", folder), F_OK), -1);
  }
  printf("%d of %d specs have a script, the others were refused\n", made, specs);
  if (check_failures == 0) CHECK_INT(system(arena_printf(base->arena, "rm -r %s", folder)), 0);
  compile_free(base);
  return check_failures != 0;
}
