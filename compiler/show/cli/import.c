/* import.c -- lockstep import: other tools' files as a job. */
#include "compiler/job/import/import.h"

#include "compiler/show/cli/outputs.h"

static ExitCode answer(Import *im, const Options *options) {
  int32_t lost = import_lost(im), unknown = import_unknown(im), used = 0;
  if (options->strict && lost + unknown > 0) {
    ExitCode code =
        complain(EXIT_USER, "--strict: %d key%s training and %s no counterpart, %d %s unknown",
                 lost, lost == 1 ? " changes" : "s change", lost == 1 ? "has" : "have", unknown,
                 unknown == 1 ? "is" : "are");
    if (options->json)
      import_json(im, stdout);
    else
      import_tell_lost(im, stderr);
    return code;
  }
  const char *job = import_job(im);
  if (!check_job_outputs(im->c, NULL, options)) return report(im->c, options);
  for (int32_t i = 0; i < im->leaves.count; i++)
    used += im->leaves.at[i].how == HOW_USED;
  ExitCode code = options->out ? write_answer(im->c->arena, options, job) : EXIT_DONE;
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
                         options->as,       options->overrides.at, options->overrides.count,
                         options->out};
  Import *im = import_read(c, &ask);
  ExitCode code = im ? answer(im, options) : report(c, options);
  compile_free(c);
  return code;
}
