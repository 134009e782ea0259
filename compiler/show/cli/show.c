/* show.c -- lockstep show: a plan as the text that parses back. */
#include <string.h>

#include "compiler/show/cli/cli.h"
#include "runtime/plan/plan_io.h"

static const char *segment_name(const Plan *plan, uint32_t segment) {
  return plan_string(plan, plan->segments[segment].name);
}

/* Lists the segments: "h.forward h.backward ...". */
static ExitCode refuse_segment(const Plan *plan, const char *name) {
  Arena *arena = arena_new();
  const char **names = ARENA_ARRAY(arena, const char *, plan->segments_count + 1);
  for (uint32_t i = 0; i < plan->segments_count; i++)
    names[i] = segment_name(plan, i);
  const char *near = nearest_word(name, names, (int32_t)plan->segments_count);
  complain(EXIT_USER, "the plan has no segment '%.60s'%s%s%s", name, near ? "; did you mean '" : "",
           near ? near : "", near ? "'?" : "; it has:");
  for (uint32_t i = 0; !near && i < plan->segments_count; i++)
    fprintf(stderr, "  %s\n", text_plain(arena, names[i]));
  arena_free(arena);
  return EXIT_USER;
}

static bool has_segment(const Plan *plan, const char *name) {
  for (uint32_t i = 0; i < plan->segments_count; i++)
    if (strcmp(segment_name(plan, i), name) == 0) return true;
  return false;
}

ExitCode verb_show(const Options *options) {
  Plan plan;
  ExitCode code = open_plan(options, &plan);
  if (code != EXIT_DONE) return code;
  if (options->segment && options->model)
    code = complain(EXIT_USER, "show prints either --segment or --model, not both");
  else if (options->model)
    plan_print_model(&plan, stdout);
  else if (options->segment && !has_segment(&plan, options->segment))
    code = refuse_segment(&plan, options->segment);
  else
    plan_print(&plan, stdout, options->segment);
  plan_close(&plan);
  return code;
}
