/* attention_plan -- plans attention for a device that is described, not present.
 *
 *   LD_LIBRARY_PATH=<folder of the null driver> attention_plan DEVICEPROP.json RESULTS.jsonl
 * [PLANS/]
 *
 * For every shape of sdpa_cases.h: the engine cuDNN takes and its workspace.
 * The plans of the shapes that attention_probe checks are written to PLANS/, for it to load and
 * run. Also asks for what must be refused, so that "supported" here is known to mean something.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/gpu/common/record.h"
#include "tests/gpu/common/text_file.h"
#include "tests/gpu/probes/cudnn_plan.h"
#include "tests/gpu/probes/sdpa_cases.h"

typedef struct {
  Results *results;
  PlanTarget target;
  const char *plans_folder;
} Planner;

typedef void BuildGraph(CudnnGraph *graph, const SdpaShape *shape);

static bool save(const Planner *planner, const CudnnPlan *plan, const char *name) {
  char *json = plan_json(plan);
  if (!json) return false;
  record_integer(planner->results, "json_bytes", (int64_t)strlen(json));
  char path[1024];
  sdpa_plan_path(planner->plans_folder, name, path, sizeof path);
  bool ok = text_file_write(path, json);
  free(json);
  return ok;
}

static bool plan_one(const Planner *planner, const SdpaShape *shape, BuildGraph *build,
                     const char *name, bool keep) {
  CudnnGraph graph;
  PlanList list = {0};
  graph_init(&graph);
  build(&graph, shape);
  bool ok = graph_finish(&graph, NULL) && plan_make(&graph, &planner->target, 1, &list);
  record_integer(planner->results, "operations", graph.op_count);
  if (ok) {
    record_integer(planner->results, "engine", list.plans[0].engine);
    record_integer(planner->results, "workspace_bytes", list.plans[0].workspace_bytes);
    if (keep) ok = save(planner, &list.plans[0], name);
  }
  plan_list_free(&list);
  graph_free(&graph);
  return ok;
}

static void plan_both(const Planner *planner, const SdpaShape *shape, bool keep) {
  static const struct {
    BuildGraph *build;
    const char *pass;
  } passes[] = {{sdpa_forward, "forward"}, {sdpa_backward, "backward"}};
  for (int i = 0; i < 2; i++) {
    char shape_name[96], name[128];
    sdpa_name(shape, shape_name, sizeof shape_name);
    snprintf(name, sizeof name, "%s %s", shape_name, passes[i].pass);
    record_begin(planner->results, "attention_plan", name);
    bool ok = plan_one(planner, shape, passes[i].build, name, keep);
    record_end(planner->results, ok);
  }
}

/* Head size 67 is no multiple of 8; 3 key heads do not divide 32 query heads. */
static void expect_refusals(const Planner *planner) {
  static const SdpaShape impossible[] = {{1, 4, 4, 256, 67, true}, {1, 32, 3, 256, 128, true}};
  for (int i = 0; i < 2; i++) {
    char name[96];
    sdpa_name(&impossible[i], name, sizeof name);
    record_begin(planner->results, "attention_plan_refusal", name);
    bool accepted = plan_one(planner, &impossible[i], sdpa_forward, name, false);
    record_text(planner->results, "reason", probe_failure());
    if (accepted) probe_fail(__FILE__, __LINE__, "an impossible shape was accepted");
    record_end(planner->results, !accepted);
  }
}

int main(int argc, char **argv) {
  if (argc != 4) {
    fprintf(stderr, "usage: attention_plan DEVICEPROP.json RESULTS.jsonl PLANS-FOLDER\n");
    return PROBE_USAGE;
  }
  Planner planner = {.plans_folder = argv[3]};
  char *json = text_file_read(argv[1]);
  if (!json || !description_from_json(json, &planner.target.description)) {
    fprintf(stderr, "attention_plan: %s\n", probe_failure());
    return PROBE_FAILED;
  }
  planner.results = results_open(argv[2]);
  if (!planner.results) return PROBE_FAILED;
  for (int i = 0; i < SDPA_CHECK_COUNT; i++)
    plan_both(&planner, &SDPA_CHECKS[i], true);
  for (int i = 0; i < SDPA_TIMING_COUNT; i++)
    plan_both(&planner, &SDPA_TIMINGS[i], false);
  expect_refusals(&planner);
  (void)cudnnBackendDestroyDescriptor(planner.target.description);
  free(json);
  return results_close(planner.results) ? PROBE_PASSED : PROBE_FAILED;
}
