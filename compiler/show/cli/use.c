/* use.c -- see use.h. */
#include "compiler/show/cli/use.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "compiler/job/source.h"
#include "compiler/show/cli/saved.h"
#include "runtime/plan/plan_io.h"
#include "runtime/process/folder.h"
#include "runtime/process/process.h"

static bool is_there(Arena *arena, const char *folder, const char *name) {
  return access(arena_printf(arena, "%s/%s", folder, name), F_OK) == 0;
}

/* ---- the job */

/* The folder of the run's model, with the config.json of one that came from a folder. */
static const char *model_folder(Arena *arena, const char *checkpoint, const Plan *plan) {
  const char *log = saved_setting(plan, "log.dir");
  const char *places[] = {arena_printf(arena, "%s/../../model", checkpoint),
                          arena_printf(arena, "%s/model", log != NULL ? log : ".")};
  for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
    char *real = is_there(arena, places[i], "config.json") ? realpath(places[i], NULL) : NULL;
    const char *found = real != NULL ? arena_copy(arena, real) : NULL;
    free(real);
    if (found != NULL) return found;
  }
  return NULL;
}

static ExitCode take_checkpoint(Used *used, const Options *options, JobUse use) {
  Compile *c = used->c;
  SavedOpen *saved = ARENA_NEW(c->arena, SavedOpen);
  ExitCode code = saved_open_word(c, options, options->words.at[0], saved);
  const char *path = saved->checkpoint.path;
  const Plan *plan = &saved->checkpoint.manifest.plan;
  char *absolute = code == EXIT_DONE ? realpath(path, NULL) : NULL;
  if (code == EXIT_DONE && absolute == NULL)
    code = complain(EXIT_WORLD, "%s: %s", path, strerror(errno));
  if (code == EXIT_DONE) {
    const char *kept = arena_copy(c->arena, absolute);
    const char *format = saved_setting(plan, "data.format");
    used->weights = kept;
    used->model = model_folder(c->arena, kept, plan);
    used->are_bytes = format != NULL && strcmp(format, "u8") == 0;
    use_settings(c->arena, plan, use, kept, used->model, &used->settings);
  }
  free(absolute);
  saved_close(saved);
  return code;
}

static ExitCode take_folder(Used *used, const char *folder) {
  char *absolute = realpath(folder, NULL);
  if (absolute == NULL) return complain(EXIT_WORLD, "%s: %s", folder, strerror(errno));
  used->model = arena_copy(used->c->arena, absolute);
  VEC_PUSH(used->c->arena, &used->settings, arena_printf(used->c->arena, "model=%s", used->model));
  free(absolute);
  return EXIT_DONE;
}

/* ---- the plan's folder */

static const char folder_prefix[] = "lockstep-use.";

/* Folders of processes of this user that were killed. */
static void clear_left(Arena *arena, const char *below) {
  DIR *items = opendir(below);
  for (struct dirent *item; items != NULL && (item = readdir(items)) != NULL;) {
    struct stat about;
    const size_t length = sizeof folder_prefix - 1;
    if (strncmp(item->d_name, folder_prefix, length) != 0) continue;
    const long process = strtol(item->d_name + length, NULL, 10);
    const char *path = arena_printf(arena, "%s/%s", below, item->d_name);
    const bool is_gone = process > 0 && kill((pid_t)process, 0) != 0 && errno == ESRCH;
    if (is_gone && lstat(path, &about) == 0 && S_ISDIR(about.st_mode) && about.st_uid == getuid())
      folder_clear(path);
  }
  if (items != NULL) (void)closedir(items);
}

/* The name contains the process id, so that a later process can remove the file if this one is
 * killed. */
static ExitCode make_folder(Used *used) {
  Arena *arena = used->c->arena;
  const char *said = getenv("TMPDIR"), *below = said && *said ? said : "/tmp";
  clear_left(arena, below);
  char *folder = arena_copy(
      arena, arena_printf(arena, "%s/%s%ld.XXXXXX", below, folder_prefix, (long)getpid()));
  if (mkdtemp(folder) == NULL) return complain(EXIT_WORLD, "%s: %s", folder, strerror(errno));
  used->folder = folder;
  used->plan_path = arena_printf(used->c->arena, "%s/use.plan", folder);
  return EXIT_DONE;
}

static ExitCode write_plan(Used *used) {
  char why[PLAN_WHY_BYTES];
  return plan_write(&used->compiled.plan, used->plan_path, why) ? EXIT_DONE
                                                                : complain(EXIT_WORLD, "%s", why);
}

ExitCode use_open(Used *used, const Options *options, JobUse use) {
  const char *what = options->words.at[0];
  *used = (Used){.c = open_compile()};
  if (used->c == NULL) return EXIT_WORLD;
  ExitCode code = check_rank_words(options);
  if (code == EXIT_DONE)
    code = is_there(used->c->arena, what, "config.json") ? take_folder(used, what)
                                                         : take_checkpoint(used, options, use);
  return code == EXIT_DONE ? make_folder(used) : code;
}

/* Messages about a copy are about the user's file. */
static void name_original(Used *used) {
  Compile *c = used->c;
  for (int32_t i = 0; used->copy != NULL && i < c->diags.list.count; i++) {
    const char *message = c->diags.list.at[i].message, *found = strstr(message, used->copy);
    if (found != NULL)
      c->diags.list.at[i].message =
          arena_printf(c->arena, "%.*s%s%s", (int)(found - message), message, used->original,
                       found + strlen(used->copy));
  }
}

ExitCode use_compile(Used *used, const Options *options, JobUse use, DrawOptions draw) {
  Compile *c = used->c;
  VEC_PUSH(c->arena, &used->settings, arena_printf(c->arena, "log.dir=%s", used->folder));
  VEC_PUSH(c->arena, &used->settings, "name=use");
  const JobSource source = {use, draw, options->words.at[0], used->settings.at,
                            used->settings.count};
  Job *job = spec_load_source(c, &source, options->overrides.at, options->overrides.count);
  const bool is_good = job != NULL && compile_loaded(c, options, job, &used->compiled);
  Options said = *options;
  said.quiet = true; /* lints are the training job's */
  said.json = options->json && !is_good;
  name_original(used);
  const ExitCode code = report(c, &said);
  return is_good && code == EXIT_DONE ? write_plan(used) : code;
}

/* ---- its ranks */

static volatile sig_atomic_t child; /* signals are passed on */

static void pass_on(int number) {
  if (child > 0) (void)kill((pid_t)child, number);
}

/* Both signals stay blocked until lockstep-rank waits for them. */
static _Noreturn void become(const char *const *words) {
  (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
  (void)signal(SIGINT, SIG_DFL);
  (void)signal(SIGTERM, SIG_DFL);
  execv(words[0], (char *const *)words);
  complain(EXIT_WORLD, "%s: %s", words[0], strerror(errno));
  _exit(EXIT_WORLD);
}

static ExitCode run_words(const char *const *words) {
  int result = 0;
  sigset_t passed, before;
  sigemptyset(&passed);
  sigaddset(&passed, SIGINT);
  sigaddset(&passed, SIGTERM);
  (void)signal(SIGINT, pass_on); /* a terminal sends it to both: the second counts a second later */
  (void)signal(SIGTERM, pass_on);
  fflush(stdout);
  fflush(stderr);
  (void)sigprocmask(SIG_BLOCK, &passed, &before);
  child = (sig_atomic_t)fork();
  if (child == 0) become(words);
  (void)sigprocmask(SIG_SETMASK, &before, NULL);
  if (child < 0) return complain(EXIT_WORLD, "cannot start a process: %s", strerror(errno));
  while (waitpid((pid_t)child, &result, 0) < 0 && errno == EINTR)
    continue;
  child = 0;
  (void)signal(SIGINT, SIG_DFL); /* results that are being printed can be left */
  (void)signal(SIGTERM, SIG_DFL);
  if (WIFEXITED(result)) return (ExitCode)WEXITSTATUS(result);
  return complain(EXIT_WORLD, "%s was ended by signal %d", words[0], WTERMSIG(result));
}

ExitCode use_run(const Used *used, const Options *options) {
  const char *words[WORDS_RANK];
  if (!rank_words(options, used->plan_path, NULL, words))
    return complain(EXIT_WORLD, "/proc is not mounted");
  return run_words(words);
}

static ExitCode refuse_input(const char *path, const char *of) {
  return complain(EXIT_USER, "%s is a file of %s, which is read: name another output", path, of);
}

ExitCode use_check_output(const Used *used, const char *path) {
  const char *folders[] = {used->model, used->weights};
  for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
    if (folders[i] != NULL && is_file_of(used->c->arena, folders[i], path))
      return refuse_input(path, folders[i]);
  return EXIT_DONE;
}

void use_close(Used *used) {
  if (used->folder != NULL) folder_clear(used->folder);
  if (used->c != NULL) compile_free(used->c);
}
