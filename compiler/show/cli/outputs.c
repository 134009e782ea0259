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

static bool is_read(const Options *options, const char *path) {
  const char *const files[] = {options->template, options->csv, options->data, options->prompt_file,
                               options->job};
  for (int32_t i = 0; i < options->words.count; i++)
    if (is_same_file(path, options->words.at[i])) return true;
  for (size_t i = 0; i < sizeof files / sizeof *files; i++)
    if (files[i] != NULL && is_same_file(path, files[i])) return true;
  return false;
}

ExitCode check_output_of(const Compile *c, const Job *job, const char *path) {
  const TextList *const data[] = {&job->data.train, &job->data.valid};
  bool is_input = false;
  for (int32_t i = 0; i < c->read.count; i++)
    is_input |= is_same_file(path, c->read.at[i].path);
  for (size_t list = 0; list < sizeof data / sizeof *data; list++)
    for (int32_t i = 0; i < data[list]->count; i++)
      is_input |= is_same_file(path, data[list]->at[i]);
  if (!is_input) return EXIT_DONE;
  return complain(EXIT_USER, "%s is a file that the job reads: name another output", path);
}

ExitCode check_outputs(const Options *options) {
  const struct {
    const char *option, *path;
  } outputs[] = {{"-o", options->out},
                 {"--svg", options->svg},
                 {"--documents", options->documents},
                 {"--logits", options->logits}};
  for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++)
    if (outputs[i].path != NULL && is_read(options, outputs[i].path))
      return complain(EXIT_USER, "%s %s is a file that is read: name another one",
                      outputs[i].option, outputs[i].path);
  if (options->svg == NULL) return EXIT_DONE;
  Arena *arena = arena_new();
  const ExitCode code = try_output(arena, options->svg);
  arena_free(arena);
  return code;
}
