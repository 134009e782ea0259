/* trace.c -- lockstep trace: merges the traces of ranks into one file for Perfetto. */
#include "runtime/trace/trace.h"

#include <errno.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/job/mesh.h"
#include "compiler/plan/simulate/price.h"
#include "compiler/show/cli/cli.h"
#include "compiler/show/cli/runs.h"
#include "runtime/plan/plan_io.h"
#include "runtime/plan/plan_place.h"

/* The steps that the user asks for, and those that were recorded. */
typedef struct TraceRequest {
  Compile *c;
  const char *folder;
  const char *ranks; /* "0..3,7"; NULL: all */
  int64_t first_step, last_step;
  Plan plan;
  Trace *traces;
  int32_t count;
} TraceRequest;

static ExitCode find_plan(TraceRequest *r) {
  glob_t found;
  char why[PLAN_WHY_BYTES];
  if (glob(arena_printf(r->c->arena, "%s/*.plan", r->folder), 0, NULL, &found) != 0)
    return complain(EXIT_USER, "%s holds no plan: name the folder of a run", r->folder);
  ExitCode code = EXIT_DONE;
  if (found.gl_pathc > 1)
    code = complain(EXIT_USER, "%s holds several plans: move those of other runs away", r->folder);
  else if (!plan_open(&r->plan, found.gl_pathv[0], why))
    code = complain(EXIT_USER, "%s", why);
  globfree(&found);
  return code;
}

/* Parses "0..3,7". False: it is no such list. */
static bool is_listed(const char *list, int64_t rank, bool *found) {
  *found = false;
  for (const char *at = list;; at++) {
    char *end;
    size_t digits = strspn(at, "0123456789");
    if (digits == 0 || digits > 9) return false;
    int64_t first = strtoll(at, &end, 10), last = first;
    at = end;
    if (strncmp(at, "..", 2) == 0) {
      digits = strspn(at + 2, "0123456789");
      if (digits == 0 || digits > 9) return false;
      last = strtoll(at + 2, &end, 10);
      at = end;
    }
    if (last < first) return false;
    *found |= rank >= first && rank <= last;
    if (*at != ',') return *at == 0;
  }
}

static ExitCode read_rank(TraceRequest *r, int32_t rank) {
  char why[TRACE_WHY_BYTES];
  const char *path = arena_printf(r->c->arena, "%s/ranks/%d.trace", r->folder, rank);
  if (!trace_read(&r->traces[r->count], path, &r->plan, r->first_step, r->last_step, why))
    return complain(EXIT_USER, "%s", why);
  r->count++;
  return EXIT_DONE;
}

static int64_t rank_count(const Plan *plan) {
  int64_t ranks = 1;
  for (uint32_t axis = 0; axis < plan->axes_count; axis++)
    ranks *= plan->axes[axis].size;
  return ranks;
}

static ExitCode read_ranks(TraceRequest *r) {
  int64_t ranks = rank_count(&r->plan);
  r->traces = ARENA_ARRAY(r->c->arena, Trace, ranks);
  for (int32_t rank = 0; rank < ranks; rank++) {
    bool is_asked = true;
    if (r->ranks != NULL && !is_listed(r->ranks, rank, &is_asked))
      return complain(EXIT_USER, "--ranks wants ranks, as 0..3,7, not '%.40s'", r->ranks);
    const char *path = arena_printf(r->c->arena, "%s/ranks/%d.trace", r->folder, rank);
    if (!is_asked || (r->ranks == NULL && access(path, F_OK) != 0)) continue;
    ExitCode code = read_rank(r, rank);
    if (code != EXIT_DONE) return code;
  }
  if (r->count > 0) return EXIT_DONE;
  if (r->ranks != NULL)
    return complain(EXIT_USER, "--ranks %.40s: the run has ranks 0 to %lld", r->ranks,
                    (long long)ranks - 1);
  return complain(EXIT_USER,
                  "%s has no records of its steps: start the run with --trace A..B, which keeps "
                  "those of steps A to B",
                  r->folder);
}

/* A TracePredict: as the plan's prediction of a step prices it. */
static int64_t predict(const Plan *plan, uint32_t rank, const PlanRecord *record) {
  return price_ns(plan, plan_coordinate(plan, rank, MESH_PP), record); /* classes are stages */
}

/* Written beside it first: a file of that name is always whole. */
static ExitCode write_file(const TraceRequest *r, const char *path, int64_t *printed) {
  const char *fresh = file_beside(r->c->arena, path);
  FILE *file = fopen(fresh, "w");
  bool written = file != NULL;
  if (written) *printed = trace_print(&r->plan, r->traces, r->count, predict, file);
  written = written && fflush(file) == 0 && !ferror(file);
  int failure = errno;
  if (file != NULL && fclose(file) != 0 && written) written = false, failure = errno;
  if (written && rename(fresh, path) == 0) return EXIT_DONE;
  if (written) failure = errno;
  if (file != NULL) file_forget(fresh, path);
  return cannot_write(path, failure);
}

static ExitCode check_any(const TraceRequest *r) {
  for (int32_t i = 0; i < r->count; i++)
    if (r->traces[i].count > 0) return EXIT_DONE;
  return complain(EXIT_USER, "%s: no rank has recorded these steps", r->folder);
}

/* A file of the run is written over only if it is an earlier trace. */
static ExitCode check_path(const TraceRequest *r, const char *path) {
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  const char *ranks = arena_printf(r->c->arena, "%s/ranks", r->folder);
  const bool is_trace = strncmp(name, "trace", strlen("trace")) == 0 && !is_plan_file(path);
  if (!is_file_of(r->c->arena, ranks, path) &&
      (is_trace || !is_file_of(r->c->arena, r->folder, path)))
    return EXIT_DONE;
  return complain(EXIT_USER, "-o %s is a file of the run: name another one", path);
}

static ExitCode trace(TraceRequest *r, const Options *options) {
  int64_t printed = 0;
  const char *path =
      options->out ? options->out : arena_printf(r->c->arena, "%s/trace.json", r->folder);
  ExitCode code = check_path(r, path);
  if (code == EXIT_DONE) code = read_ranks(r);
  if (code == EXIT_DONE) code = check_any(r);
  if (code == EXIT_DONE) code = write_file(r, path, &printed);
  if (code == EXIT_DONE)
    printf("wrote    %s   %lld record%s of %d rank%s: open it at ui.perfetto.dev\n", path,
           (long long)printed, plural(printed), r->count, plural(r->count));
  for (int32_t i = 0; i < r->count; i++)
    trace_free(&r->traces[i]);
  return code;
}

ExitCode verb_trace(const Options *options) {
  TraceRequest r = {.ranks = options->trace_ranks, .last_step = INT64_MAX};
  const char *steps = options->trace_steps;
  if (steps != NULL && !trace_steps(steps, &r.first_step, &r.last_step))
    return complain(EXIT_USER, "--steps wants steps, as 5 or 5..8, not '%.40s'", steps);
  r.c = open_compile();
  if (!r.c) return EXIT_WORLD;
  ExitCode code = run_folder(r.c, options, options->words.at[0], &r.folder);
  if (code == EXIT_DONE) code = find_plan(&r);
  if (code == EXIT_DONE) {
    code = trace(&r, options);
    plan_close(&r.plan);
  }
  compile_free(r.c);
  return code;
}
