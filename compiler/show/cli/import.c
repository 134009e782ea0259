/* import.c -- lockstep import: other tools' files as a job. */
#include "compiler/job/import/import.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "compiler/show/cli/cli.h"

/* Beside it, then renamed: a job that is there is whole. */
static ExitCode write_job(Import *im, const Options *options, const char *job) {
  const char *path = options->out;
  if (!options->force && access(path, F_OK) == 0)
    return complain(EXIT_USER, "%s is there; --force writes over it",
                    text_plain(im->c->arena, path));
  const char *beside = arena_printf(im->c->arena, "%s.new%ld", path, (long)getpid());
  FILE *file = fopen(beside, "wx");
  bool is_written = file && fputs(job, file) >= 0;
  if (file && fclose(file) != 0) is_written = false;
  if (is_written && rename(beside, path) == 0) return EXIT_DONE;
  int error = errno;
  if (file) unlink(beside);
  return complain(EXIT_WORLD, "%s: %s", text_plain(im->c->arena, path), strerror(error));
}

static ExitCode answer(Import *im, const Options *options) {
  int32_t lost = import_lost(im), unknown = import_unknown(im), used = 0;
  if (options->strict && lost + unknown > 0) {
    ExitCode code =
        complain(EXIT_USER, "--strict: %d key%s training and %s no counterpart, %d %s unknown",
                 lost, lost == 1 ? " changes" : "s change", lost == 1 ? "has" : "have", unknown,
                 unknown == 1 ? "is" : "are");
    if (options->json) import_json(im, stdout);
    return code;
  }
  const char *job = import_job(im);
  for (int32_t i = 0; i < im->leaves.count; i++)
    used += im->leaves.at[i].how == HOW_USED;
  ExitCode code = options->out ? write_job(im, options, job) : EXIT_DONE;
  if (code != EXIT_DONE) return code;
  if (options->json)
    import_json(im, stdout);
  else if (!options->out)
    fputs(job, stdout);
  else if (!options->quiet)
    printf("%-8s %s   %d key%s used, %d not; %d change%s training\n", "wrote",
           text_plain(im->c->arena, options->out), used, plural(used), im->leaves.count - used,
           lost, lost == 1 ? "s" : "");
  return EXIT_DONE;
}

ExitCode verb_import(const Options *options) {
  if (options->words.count == 0 && !options->words_of)
    return complain(EXIT_USER, "import wants files, or --command 'WORDS'");
  Compile *c = open_compile();
  if (!c) return EXIT_WORLD;
  const ImportAsk ask = {options->words.at, options->words.count,  options->words_of,
                         options->as,       options->overrides.at, options->overrides.count};
  Import *im = import_read(c, &ask);
  ExitCode code = im ? answer(im, options) : report(c, options);
  compile_free(c);
  return code;
}
