/* outputs.c -- checks of output files before a verb works: none is a file that the verb reads, and
 * the picture of a long search can be written. */
#include "compiler/show/cli/outputs.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

ExitCode try_output(Arena *arena, const char *path) {
  struct stat about;
  const char *fresh = file_beside(arena, path);
  if (strcmp(fresh, path) == 0 && stat(path, &about) == 0 && !S_ISDIR(about.st_mode))
    return EXIT_DONE; /* a device or a pipe */
  if (stat(path, &about) == 0 && S_ISDIR(about.st_mode)) return cannot_write(path, EISDIR);
  FILE *file = fopen(fresh, "ab");
  const int failure = errno;
  if (file != NULL) (void)fclose(file);
  if (file != NULL) file_forget(fresh, path);
  return file != NULL ? EXIT_DONE : cannot_write(path, failure);
}

/* The value of an option that is given once; NULL: it is not given. */
static const char *path_of(const Options *options, const Flag *flag) {
  return *(const char *const *)((const char *)options + flag->offset);
}

static bool is_read(const Options *options, const char *path) {
  for (int32_t i = 0; i < options->words.count; i++)
    if (is_same_file(path, options->words.at[i])) return true;
  for (int32_t i = 0; i < flag_count; i++) {
    const char *input = flags[i].file == FILE_READ ? path_of(options, &flags[i]) : NULL;
    if (input != NULL && is_same_file(path, input)) return true;
  }
  return false;
}

static bool is_in_list(const TextList *list, const char *path) {
  for (int32_t i = 0; i < list->count; i++)
    if (is_same_file(path, list->at[i])) return true;
  return false;
}

bool is_input_of(const Compile *c, const Job *job, const char *path) {
  for (int32_t i = 0; i < c->read.count; i++)
    if (is_same_file(path, c->read.at[i].path) || is_file_of(c->arena, c->read.at[i].path, path))
      return true;
  return job != NULL && (is_in_list(&job->data.train, path) || is_in_list(&job->data.valid, path));
}

bool check_output_of(Compile *c, const Job *job, const char *path) {
  return !is_input_of(c, job, path) ||
         error_at(c, (Span){0}, "output-is-read",
                  "%s is a file that the job reads: name another output", path);
}

const char *output_of_inputs(const Compile *c, const Job *job, const Options *options) {
  for (int32_t i = 0; i < flag_count; i++) {
    const char *path = flags[i].file == FILE_WRITTEN ? path_of(options, &flags[i]) : NULL;
    if (path != NULL && is_input_of(c, job, path)) return path;
  }
  return NULL;
}

bool check_job_outputs(Compile *c, const Job *job, const Options *options) {
  const char *path = output_of_inputs(c, job, options);
  return path == NULL || check_output_of(c, job, path);
}

ExitCode check_outputs(const Options *options) {
  for (int32_t i = 0; i < flag_count; i++) {
    const char *path = flags[i].file == FILE_WRITTEN ? path_of(options, &flags[i]) : NULL;
    if (path != NULL && is_read(options, path))
      return complain(EXIT_USER, "%s %s is a file that is read: name another one",
                      flag_first_name(&flags[i]), path);
  }
  if (options->svg == NULL) return EXIT_DONE;
  Arena *arena = arena_new();
  const ExitCode code = try_output(arena, options->svg);
  arena_free(arena);
  return code;
}
