/* explain.c -- lockstep explain: memory of a rank, layouts, schedule, rank map, or where the value
 * of a key came from. */
#include "compiler/explain/explain.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/cli/cli.h"
#include "compiler/explain/timeline.h"
#include "compiler/spec/help.h"

/* "rank=3" or "3". */
static bool parse_rank(const char *text, int64_t *rank) {
  if (strncmp(text, "rank=", 5) == 0) text += 5;
  char *end;
  *rank = strtoll(text, &end, 10);
  return end != text && !*end && *rank >= 0;
}

/* The picture goes to a file of its own, whole or not at all. */
static ExitCode write_picture(const Compiled *compiled, const char *path) {
  FILE *out = fopen(path, "w");
  bool is_good = out != NULL && timeline_svg(&compiled->plan, out);
  if (out != NULL) is_good = fclose(out) == 0 && is_good;
  if (!is_good) {
    if (out != NULL) remove(path);
    return complain(EXIT_WORLD, "cannot write %s", path);
  }
  fprintf(stderr, "wrote    %s\n", path);
  return EXIT_DONE;
}

static ExitCode explain_one(const Options *options, Compile *c, const Compiled *compiled) {
  int64_t rank;
  if (options->why) {
    const Derived *d = &compiled->derived;
    int64_t ranks = d->dp * d->tp * d->cp * d->pp;
    if (!parse_rank(options->why, &rank) || rank >= ranks)
      return complain(EXIT_USER, "--why wants rank=0 to rank=%lld, not '%.40s'",
                      (long long)(ranks - 1), options->why);
    explain_rank(compiled, rank, stdout);
  } else if (options->json) {
    explain_json(compiled, stdout);
  } else if (options->layouts) {
    explain_layouts(compiled, stdout);
  } else if (options->map) {
    explain_map(compiled, stdout);
  } else if (options->schedule || options->svg) {
    explain_schedule(compiled, stdout);
    if (options->svg) return write_picture(compiled, options->svg);
  } else if (options->values) {
    help_values(c, compiled->job, NULL, stdout);
  } else if (options->word_count == 2) {
    if (!help_values(c, compiled->job, options->words[1], stdout))
      return complain(EXIT_USER, "there is no key %.60s; see lockstep help", options->words[1]);
  } else {
    explain_summary(compiled, stdout);
    putchar('\n');
    explain_memory(compiled, stdout);
  }
  return EXIT_DONE;
}

/* --svg draws what --schedule writes. */
static int32_t screens_asked(const Options *options) {
  bool schedule = options->schedule || options->svg != NULL;
  return (options->why != NULL) + options->json + options->values + (options->word_count == 2) +
         options->layouts + options->map + schedule;
}

ExitCode verb_explain(const Options *options) {
  if (options->word_count < 1 || options->word_count > 2)
    return complain(EXIT_USER, "explain wants a job file, and perhaps a key");
  if (screens_asked(options) > 1)
    return complain(EXIT_USER, "explain shows one screen at a time: a key's or an option's");
  Compile *c = open_compile();
  Compiled compiled;
  bool is_good = compile_job(c, options, &compiled);
  ExitCode code = EXIT_DONE;
  /* A job that does not fit has a table too: the one that says by how much. */
  if (is_good || compiled.plan.jobs_count == 1) code = explain_one(options, c, &compiled);
  fflush(stdout);
  Options spoken = *options;
  if (is_good || compiled.plan.jobs_count == 1) spoken.json = false;
  ExitCode said = report(c, &spoken);
  compile_free(c);
  return code != EXIT_DONE ? code : said;
}
