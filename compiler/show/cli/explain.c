/* explain.c -- lockstep explain: memory of a rank, layouts, schedule, rank map, two settings side
 * by side, or where the value of a key came from. */
#include "compiler/show/explain/explain.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/job/hints/help.h"
#include "compiler/search/changes.h"
#include "compiler/search/lints.h"
#include "compiler/show/cli/elastic.h"
#include "compiler/show/cli/use.h"
#include "compiler/show/explain/timeline.h"
#include "runtime/plan/plan_job.h"
#include "slurm/script.h"

/* "rank=3" or "3". */
static bool parse_rank(const char *text, int64_t *rank) {
  if (strncmp(text, "rank=", 5) == 0) text += 5;
  char *end;
  *rank = strtoll(text, &end, 10);
  return end != text && !*end && *rank >= 0;
}

static int64_t count_ranks(const Compiled *compiled) {
  const Derived *d = &compiled->derived;
  return d->dp * d->tp * d->cp * d->pp;
}

static bool find_rank(const Compiled *compiled, const char *text, int64_t *rank) {
  return parse_rank(text, rank) && *rank < count_ranks(compiled);
}

static bool draw_map(const void *compiled, FILE *out) {
  return explain_map_svg(compiled, out);
}

static bool draw_timeline(const void *compiled, FILE *out) {
  return timeline_svg(&((const Compiled *)compiled)->plan, out);
}

static bool draw_breakdown(const void *compiled, FILE *out) {
  return explain_breakdown_svg(compiled, out);
}

static ExitCode write_explained(const Compiled *compiled, const Options *options) {
  return write_picture(options,
                       options->map         ? draw_map
                       : options->breakdown ? draw_breakdown
                                            : draw_timeline,
                       compiled);
}

/* "parallel.zero=0 parallel.dp=4" */
static const char *changes_text(Arena *arena, const Options *options) {
  const char *text = "";
  for (int32_t i = 0; i < options->against.count; i++)
    text = arena_printf(arena, "%s%s%s", text, i > 0 ? " " : "", options->against.at[i]);
  return text;
}

/* The other job is this job with further changes. That it does not fit is part of the answer; any
 * other error is reported as the other job's. */
static ExitCode explain_against(const Options *options, const Compiled *compiled) {
  Options other = *options;
  other.json = false;
  if (options->overrides.count + options->against.count > WORDS_MAX)
    return complain(EXIT_USER, "more than %d changes", WORDS_MAX);
  for (int32_t i = 0; i < options->against.count; i++)
    other.overrides.at[other.overrides.count++] = options->against.at[i];
  Compile *c = open_compile();
  if (!c) return EXIT_WORLD;
  Compiled against;
  ExitCode code = EXIT_DONE;
  if (!compile_job(c, &other, &against) && !plan_has_job(&against.plan)) {
    complain(EXIT_USER, "this job with the changes of --against has errors:");
    code = report(c, &other);
  } else if (options->json) {
    explain_compare_json(compiled, &against, stdout);
  } else {
    explain_compare(compiled, &against, changes_text(c->arena, options), stdout);
  }
  compile_free(c);
  return code;
}

static ExitCode refuse_key(Compile *c, const char *key) {
  TextList keys = help_keys(c);
  const char *near = nearest_word(key, keys.at, keys.count);
  return complain(EXIT_USER, "there is no key '%.60s'%s%s%s", key,
                  near ? "; did you mean '" : "; see lockstep help", near ? near : "",
                  near ? "'?" : "");
}

static ExitCode explain_launch(Compile *c, const Options *options, const Compiled *compiled) {
  char programs[4096];
  if (!own_folder(programs, sizeof programs)) return complain(EXIT_WORLD, "/proc is not mounted");
  Launch *launch = launch_make(c, compiled, programs);
  if (launch) elastic_plans(c, options, compiled, launch);
  if (launch && !compile_failed(c)) launch_print(c, launch, stdout);
  if (launch) elastic_close(launch);
  return EXIT_DONE; /* the caller returns the code of what was reported */
}

/* "rank=3": its memory; "place": why ranks are where they are. */
static ExitCode explain_why(const Options *options, const Compiled *compiled) {
  int64_t rank;
  if (strcmp(options->why, "place") == 0) {
    explain_order(compiled, stdout);
    return EXIT_DONE;
  }
  if (!find_rank(compiled, options->why, &rank))
    return complain(EXIT_USER, "--why wants place, or rank=0 to rank=%lld, not '%.40s'",
                    (long long)(count_ranks(compiled) - 1), options->why);
  explain_rank(compiled, rank, stdout);
  return EXIT_DONE;
}

static ExitCode explain_where(const Options *options, const Compiled *compiled) {
  int64_t rank;
  if (!find_rank(compiled, options->rank, &rank))
    return complain(EXIT_USER, "--rank wants 0 to %lld, not '%.40s'",
                    (long long)(count_ranks(compiled) - 1), options->rank);
  explain_seat(compiled, rank, stdout);
  return EXIT_DONE;
}

static ExitCode explain_places(const Options *options, const Compiled *compiled) {
  if (options->json)
    explain_map_json(compiled, stdout);
  else
    explain_map(compiled, stdout);
  return options->svg ? write_explained(compiled, options) : EXIT_DONE;
}

/* The small change of the job with which a step is expected to be shortest, by a plan with it. */
static void print_next(Compile *c, const Compiled *compiled) {
  enum { NEXT_LINES = 9, COLUMNS = 80 };
  const Subject subject = {compiled->as_read, compiled->machine, c->specs_dir};
  const Change base = {.derived = compiled->derived};
  const double now = step_seconds(compiled);
  if (compiled->as_read == NULL || now <= 0) return;
  Changes *list = ARENA_NEW(c->arena, Changes);
  changes_small(&subject, &compiled->cluster, &base, false, list);
  changes_estimate(&subject, list);
  const Change *best = changes_best(&subject, list, false);
  if (best == NULL) return;
  const double then = 1e-9 * (double)best->estimate.step_ns;
  const char *text = "next     no small change of the job that fits is faster";
  if (then < now)
    text = arena_printf(c->arena, "next     %s: %s a step, %.1f %% less; %s a rank",
                        change_text(c->arena, best), format_seconds(c->arena, then),
                        100 * (1 - then / now), format_bytes(c->arena, best->estimate.arena_bytes));
  print_wrapped(stdout, text, 0, NEXT_LINES, COLUMNS);
}

static ExitCode explain_one(const Options *options, Compile *c, const Compiled *compiled) {
  if (options->why) {
    return explain_why(options, compiled);
  } else if (options->rank) {
    return explain_where(options, compiled);
  } else if (options->against.count > 0) {
    return explain_against(options, compiled);
  } else if (options->samples_of) {
    return explain_samples(c, options, &compiled->plan);
  } else if (options->map) {
    return explain_places(options, compiled);
  } else if (options->layouts) {
    (options->json ? explain_layouts_json : explain_layouts)(compiled, stdout);
  } else if (options->json) {
    explain_json(compiled, stdout);
  } else if (options->launch) {
    return explain_launch(c, options, compiled);
  } else if (options->schedule || options->breakdown || options->svg) {
    (options->breakdown ? explain_breakdown : explain_schedule)(compiled, stdout);
    if (options->breakdown) print_next(c, compiled);
    if (options->svg) return write_explained(compiled, options);
  } else if (options->values) {
    help_values(c, compiled->job, NULL, stdout);
  } else if (options->words.count == 2) {
    if (!help_values(c, compiled->job, options->words.at[1], stdout))
      return refuse_key(c, options->words.at[1]);
    if (strcmp(options->words.at[1], "schedule") == 0) explain_rates(compiled, stdout);
    if (strcmp(options->words.at[1], "train.deterministic") == 0) explain_bits(compiled, stdout);
  } else {
    explain_summary(compiled, stdout);
    putchar('\n');
    explain_memory(compiled, stdout);
  }
  return EXIT_DONE;
}

/* Says so when two screens are asked for. --svg draws what --schedule, --breakdown or --map writes;
 * --against, --map, --layouts and --samples have their own JSON. */
static bool is_one_screen(const Options *options) {
  const struct {
    bool is_asked;
    const char *name;
  } screens[] = {
      {options->words.count == 2, "a key"},
      {options->why != NULL, "--why"},
      {options->rank != NULL, "--rank"},
      {options->values, "--values"},
      {options->for_eval, "--eval"},
      {options->for_sample, "--sample"},
      {options->layouts, "--layouts"},
      {options->map, "--map"},
      {options->samples_of != NULL, "--samples"},
      {options->launch, "--launch"},
      {options->breakdown, "--breakdown"},
      {options->schedule || (options->svg && !options->map && !options->breakdown),
       options->schedule ? "--schedule" : "--svg"},
      {options->against.count > 0, "--against"},
      {options->json && options->against.count == 0 && !options->map && !options->layouts &&
           !options->samples_of,
       "--json"},
  };
  const char *first = NULL;
  for (size_t i = 0; i < sizeof screens / sizeof *screens; i++) {
    if (!screens[i].is_asked) continue;
    if (first) {
      complain(EXIT_USER, "explain shows one screen at a time, not both of %s and %s", first,
               screens[i].name);
      return false;
    }
    first = screens[i].name;
  }
  return true;
}

/* A plan that does not train has one screen. */
static ExitCode explain_use(const Options *options, JobUse use) {
  Used used;
  ExitCode code = use_open(&used, options, use);
  if (code == EXIT_DONE)
    code = use_compile(&used, options, use, (DrawOptions){.temperature = 1, .top_p = 1});
  if (code == EXIT_DONE) explain_memory(&used.compiled, stdout);
  use_close(&used);
  return finish_output(code);
}

ExitCode verb_explain(const Options *options) {
  if (!is_one_screen(options)) return EXIT_USER;
  if (options->for_eval || options->for_sample)
    return explain_use(options, options->for_eval ? USE_EVAL : USE_SAMPLE);
  Compile *c = open_compile();
  if (!c) return EXIT_WORLD;
  Compiled compiled;
  bool is_good = compile_job(c, options, &compiled);
  if (is_good) change_lints(c, &compiled);
  ExitCode code = EXIT_DONE;
  /* A job that does not fit has a table too: the one that says by how much. */
  if (is_good || plan_has_job(&compiled.plan)) code = explain_one(options, c, &compiled);
  fflush(stdout);
  Options spoken = *options;
  if (is_good || plan_has_job(&compiled.plan)) spoken.json = false;
  ExitCode said = report(c, &spoken);
  compile_free(c);
  return code != EXIT_DONE ? code : said;
}
