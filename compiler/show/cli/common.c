/* common.c -- what several verbs do. */
#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compiler/job/data.h"
#include "compiler/machine/topology/gpus.h"
#include "compiler/machine/topology/here.h"
#include "compiler/machine/topology/read.h"
#include "compiler/search/fit.h"
#include "compiler/show/cli/outputs.h"
#include "kernels/product.h"
#include "runtime/plan/plan_io.h"
#include "runtime/plan/plan_job.h"
#include "slurm/quote.h"

ExitCode complain(ExitCode code, const char *format, ...) {
  char text[8192]; /* a message with paths of any length */
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  fflush(stdout);     /* whole lines, where both streams go to one place */
  char *plain = NULL; /* words of the command line may hold control characters */
  size_t length = 0;
  FILE *memory = open_memstream(&plain, &length);
  if (memory != NULL) {
    print_plain(text, memory);
    fclose(memory);
  }
  int32_t column = fprintf(stderr, "lockstep: ");
  print_wrapped(stderr, plain != NULL ? plain : "not enough memory", column, 4, COLUMNS_MOST);
  free(plain);
  return code;
}

const char *command_line(Arena *arena, const Options *options) {
  const char *text = "lockstep";
  for (int32_t i = 1; i < options->command_count; i++)
    text = arena_printf(arena, "%s %s", text, quote_line(arena, options->command[i]));
  return text;
}

bool own_folder(char *folder, size_t size_bytes) {
  ssize_t length = readlink("/proc/self/exe", folder, size_bytes - 1);
  if (length <= 0) return false;
  folder[length] = 0;
  char *slash = strrchr(folder, '/');
  if (slash) *slash = 0;
  return slash != NULL;
}

/* The library is found from the folder of the programs: where it was installed, or, in a build
 * folder, by a link beside them. No other place is tried: an installed program must not depend on a
 * source tree. */
static char *find_library(void) {
  static const char *const places[] = {LOCKSTEP_LIBRARY_FROM_PROGRAMS, "share/lockstep"};
  char folder[4096], path[4200];
  if (!own_folder(folder, sizeof folder)) {
    complain(EXIT_WORLD, "/proc is not mounted");
    return NULL;
  }
  for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
    snprintf(path, sizeof path, "%s/%s/specs", folder, places[i]);
    char *specs = realpath(path, NULL);
    if (specs) return specs;
  }
  complain(EXIT_WORLD, "the library of models and clusters is missing: there is no %s/%s/specs",
           folder, places[0]);
  return NULL;
}

Compile *open_compile(void) {
  char *specs = find_library();
  Compile *c = specs ? compile_new(specs) : NULL;
  free(specs);
  return c;
}

ExitCode write_failure_code(int failure) {
  static const int of_paths[] = {ENOENT, ENOTDIR, EISDIR, ENAMETOOLONG, ELOOP, EEXIST, ENOTEMPTY};
  for (size_t i = 0; i < sizeof of_paths / sizeof *of_paths; i++)
    if (failure == of_paths[i]) return EXIT_USER;
  return EXIT_WORLD;
}

ExitCode cannot_write(const char *path, int failure) {
  return complain(write_failure_code(failure), "%s: cannot be written: %s", path,
                  failure != 0 ? strerror(failure) : "only a part was written");
}

bool is_same_file(const char *a, const char *b) {
  struct stat first, second;
  return stat(a, &first) == 0 && stat(b, &second) == 0 && S_ISREG(first.st_mode) &&
         first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

bool is_file_of(Arena *arena, const char *folder, const char *path) {
  struct stat about;
  DIR *items = stat(path, &about) == 0 ? opendir(folder) : NULL;
  bool is_it = false;
  for (struct dirent *item; items != NULL && !is_it && (item = readdir(items)) != NULL;)
    is_it = is_same_file(path, arena_printf(arena, "%s/%s", folder, item->d_name));
  if (items != NULL) (void)closedir(items);
  return is_it;
}

bool is_plan_file(const char *path) {
  FILE *file = fopen(path, "rb");
  char start[sizeof PLAN_MAGIC - 1] = "";
  bool is_plan = file && fread(start, 1, sizeof start, file) == sizeof start &&
                 memcmp(start, PLAN_MAGIC, sizeof start) == 0;
  if (file) fclose(file);
  return is_plan;
}

ExitCode open_plan(const Options *options, Plan *plan) {
  const char *path = options->words.at[0];
  char why[PLAN_WHY_BYTES] = "";
  if (plan_open(plan, path, why)) return EXIT_DONE;
  size_t length = strlen(path);
  bool is_job = length > 4 && strcmp(path + length - 4, ".lua") == 0 && access(path, R_OK) == 0;
  return complain(EXIT_USER, "%s%s", why, is_job ? "; lockstep compile makes one of a job" : "");
}

ExitCode finish_output(ExitCode code) {
  errno = 0;
  if (fflush(stdout) == 0 && !ferror(stdout)) return code;
  return complain(EXIT_WORLD, "cannot write the output%s%s", errno ? ": " : "",
                  errno ? strerror(errno) : "");
}

static bool refuse_plan(Compile *c, const char *verb, const char *path) {
  error_at(c, (Span){.file = path}, "not-a-job", "this is a plan; %s wants a job file", verb);
  note_at(c, (Span){0}, "lockstep show, prove and run take plans");
  return false;
}

void print_gpus(Arena *arena) {
  Gpus gpus = topology_gpus(arena);
  Machine machine = {0};
  topology_use_gpus(arena, &gpus, topology_has_cuda(), &machine);
  for (int32_t i = 0; i < gpus.list.count; i++) {
    const Gpu *gpu = &gpus.list.at[i];
    printf("gpu %-4d %s   %s   sm_%d%d   %s\n", (int)i, text_plain(arena, gpu->name),
           format_bytes(arena, gpu->memory_bytes), (int)gpu->major, (int)gpu->minor, gpu->pci);
  }
  if (machine.gpus > 0) puts("gpu      used by cluster = \"here\"");
  if (machine.gpu_unused)
    print_wrapped(stdout, arena_printf(arena, "gpu      not used: %s", machine.gpu_unused), 0, 9,
                  COLUMNS_MOST);
}

bool say_environment(Compile *c) {
  const char *setting = topology_environment(c->arena);
  if (!topology_environment_works(c)) return false;
  if (setting)
    complain(EXIT_DONE,
             "%s is set: it describes another machine, which is used instead of this one", setting);
  return true;
}

/* The job's data, and this machine where the job is for it. */
static bool read_data(Compile *c, const Options *options, Job *job, Machine *machine) {
  if (options->no_data)
    spec_data_assume(job);
  else if (!spec_data(c, job) && job->is_data_absent && job->use == USE_TRAIN &&
           strcmp(options->verb, "run") != 0)
    note_at(c, (Span){0}, "with --no-data, %s does not look for the data files", options->verb);
  if (job->data.format == 0) spec_data_assume(job);
  *machine = (Machine){.memory_bytes = (int64_t)1 << 33, .cores = 1};
  if (strcmp(job->cluster.head_text, "here") == 0) {
    if (!say_environment(c)) return false;
    *machine = topology_here();
    machine->processor = product_choice()->processor;
    Gpus gpus = topology_gpus(c->arena);
    bool has_cuda = topology_has_cuda() || (options->on && strcmp(options->on, "cuda-host") == 0);
    topology_use_gpus(c->arena, &gpus, has_cuda, machine);
  }
  return true;
}

Job *read_job(Compile *c, const Options *options, Machine *machine) {
  const char *path = options->words.at[0];
  if (is_plan_file(path)) {
    refuse_plan(c, options->verb, path);
    return NULL;
  }
  Job *job = spec_load(c, path, options->overrides.at, options->overrides.count);
  const bool is_good = job != NULL && read_data(c, options, job, machine);
  return is_good && check_job_outputs(c, job, options) ? job : NULL;
}

static bool compile_read(Compile *c, const Options *options, Job *job, const Machine *machine,
                         Compiled *compiled) {
  bool is_good = fit_plan(c, job, machine, compiled);
  if (!check_job_outputs(c, job, options)) { /* now with the model's files */
    compiled->plan = (Plan){0}; /* of a job that does not fit there are pictures, too */
    return false;
  }
  if (is_good && !compile_failed(c)) {
    spec_data_ids(c, job, job_vocab(&compiled->plan));
    spec_data_tokenizer(c, job, job_model_folder(&compiled->plan));
  }
  return is_good && !compile_failed(c);
}

bool compile_loaded(Compile *c, const Options *options, Job *job, Compiled *compiled) {
  Machine machine;
  return read_data(c, options, job, &machine) && check_job_outputs(c, job, options) &&
         compile_read(c, options, job, &machine, compiled);
}

bool compile_job(Compile *c, const Options *options, Compiled *compiled) {
  *compiled = (Compiled){0};
  Machine machine;
  Job *job = read_job(c, options, &machine);
  return job != NULL && compile_read(c, options, job, &machine, compiled);
}

ExitCode write_picture(const Options *options, Draw *draw, const void *state) {
  const char *path = options->svg;
  Arena *arena = arena_new();
  const char *beside = file_beside(arena, path);
  errno = 0;
  FILE *out = fopen(beside, "w");
  bool is_good = out != NULL && draw(state, out);
  if (out != NULL) is_good = fclose(out) == 0 && is_good;
  is_good = is_good && rename(beside, path) == 0;
  int reason = errno;
  if (out != NULL && !is_good) file_forget(beside, path);
  arena_free(arena);
  if (!is_good) return cannot_write(path, reason);
  fflush(stdout); /* whole lines, where both streams go to one place */
  if (options->quiet) return EXIT_DONE;
  fputs("wrote    ", stderr);
  print_plain(path, stderr);
  fputc('\n', stderr);
  return EXIT_DONE;
}

ExitCode write_answer(Arena *arena, const Options *options, const char *text) {
  const char *path = options->out;
  if (!options->force && access(path, F_OK) == 0)
    return complain(EXIT_USER, "%s is there; --force writes over it", path);
  const char *beside = file_beside(arena, path);
  errno = 0;
  FILE *file = fopen(beside, "w");
  bool is_written = file && fputs(text, file) >= 0;
  if (file && fclose(file) != 0) is_written = false;
  if (is_written && rename(beside, path) == 0) return EXIT_DONE;
  int error = errno;
  if (file) file_forget(beside, path);
  return cannot_write(path, error);
}

ExitCode report_code(const Compile *c) {
  return c->is_defect ? EXIT_OURS : compile_failed(c) ? EXIT_USER : EXIT_DONE;
}

ExitCode report(const Compile *c, const Options *options) {
  bool failed = compile_failed(c);
  if (options->json) {
    printf("{\"version\": 1, \"ok\": %s, \"diagnostics\": ", failed ? "false" : "true");
    diags_print_json(&c->diags, stdout);
    puts("}");
  } else {
    fflush(stdout);
    bool shown = failed || !options->quiet;
    int32_t errors = shown ? diags_print(&c->diags, stderr, options->colored) : 0;
    if (errors > 1 && !options->quiet) fprintf(stderr, "%d errors\n", errors);
  }
  return report_code(c);
}
