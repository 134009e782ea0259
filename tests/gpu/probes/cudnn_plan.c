#include "tests/gpu/probes/cudnn_plan.h"

#include <stdlib.h>
#include <string.h>

/* Finalises `descriptor`, or destroys it and forgets it. */
static bool finalize_or_destroy(Descriptor *descriptor) {
  cudnnStatus_t status = cudnnBackendFinalize(*descriptor);
  if (status == CUDNN_STATUS_SUCCESS) return true;
  char text[1024] = "";
  cudnnGetLastErrorString(text, sizeof text);
  (void)cudnnBackendDestroyDescriptor(*descriptor);
  *descriptor = NULL;
  FAIL("cudnnBackendFinalize -> %s: %s", cudnnGetErrorString(status), text);
}

bool description_from_json(const char *json, Descriptor *description) {
  TRY_CUDNN(cudnnBackendCreateDescriptor(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, description));
  TRY_CUDNN(cudnnBackendSetAttribute(*description, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION,
                                     CUDNN_TYPE_CHAR, (int64_t)strlen(json) + 1, json));
  return finalize_or_destroy(description);
}

bool description_from_device(cudnnHandle_t handle, Descriptor *description) {
  TRY_CUDNN(cudnnBackendCreateDescriptor(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, description));
  TRY_CUDNN(cudnnBackendSetAttribute(*description, CUDNN_ATTR_DEVICEPROP_HANDLE, CUDNN_TYPE_HANDLE,
                                     1, &handle));
  return finalize_or_destroy(description);
}

static bool read_json(Descriptor descriptor, cudnnBackendAttributeName_t name, char **json) {
  int64_t size_bytes = 0;
  TRY_CUDNN(cudnnBackendGetAttribute(descriptor, name, CUDNN_TYPE_CHAR, 0, &size_bytes, NULL));
  *json = calloc(1, (size_t)size_bytes + 1);
  if (!*json) FAIL("out of host memory");
  TRY_CUDNN(
      cudnnBackendGetAttribute(descriptor, name, CUDNN_TYPE_CHAR, size_bytes, &size_bytes, *json));
  return true;
}

static char *json_or_null(Descriptor descriptor, cudnnBackendAttributeName_t name) {
  char *json = NULL;
  if (read_json(descriptor, name, &json)) return json;
  free(json);
  return NULL;
}

char *description_json(Descriptor description) {
  return json_or_null(description, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION);
}

char *plan_json(const CudnnPlan *plan) {
  return json_or_null(plan->plan, CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION);
}

static bool query_heuristics(const CudnnGraph *graph, const PlanTarget *target,
                             Descriptor *heuristics) {
  cudnnBackendHeurMode_t mode = CUDNN_HEUR_MODE_A;
  TRY_CUDNN(cudnnBackendCreateDescriptor(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, heuristics));
  TRY_CUDNN(cudnnBackendSetAttribute(*heuristics, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH,
                                     CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &graph->graph));
  TRY_CUDNN(cudnnBackendSetAttribute(*heuristics, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE,
                                     1, &mode));
  if (target->description)
    TRY_CUDNN(cudnnBackendSetAttribute(*heuristics, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP,
                                       CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &target->description));
  return finalize_or_destroy(heuristics);
}

static int64_t engine_index(Descriptor configuration) {
  Descriptor engine = NULL;
  int64_t count = 0, index = -1;
  if (cudnnBackendCreateDescriptor(CUDNN_BACKEND_ENGINE_DESCRIPTOR, &engine)) return -1;
  (void)cudnnBackendGetAttribute(configuration, CUDNN_ATTR_ENGINECFG_ENGINE,
                                 CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &engine);
  (void)cudnnBackendGetAttribute(engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1,
                                 &count, &index);
  (void)cudnnBackendDestroyDescriptor(engine);
  return index;
}

static bool read_workspace(CudnnPlan *plan) {
  int64_t count = 0;
  TRY_CUDNN(cudnnBackendGetAttribute(plan->plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                                     CUDNN_TYPE_INT64, 1, &count, &plan->workspace_bytes));
  return true;
}

/* The attribute is marked deprecated in 9.19, but a plan loaded from JSON has no other way to learn
 * its handle; cudnn-frontend 1.23 (cudnn_frontend_ExecutionPlan.h:492) does the same. */
static bool set_plan_handle(Descriptor plan, cudnnHandle_t handle) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  cudnnBackendAttributeName_t name = CUDNN_ATTR_EXECUTION_PLAN_HANDLE;
#pragma GCC diagnostic pop
  TRY_CUDNN(cudnnBackendSetAttribute(plan, name, CUDNN_TYPE_HANDLE, 1, &handle));
  return true;
}

static bool make_one(Descriptor configuration, const PlanTarget *target, CudnnPlan *plan) {
  *plan = (CudnnPlan){.engine = engine_index(configuration)};
  TRY_CUDNN(cudnnBackendCreateDescriptor(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, &plan->plan));
  if (target->handle) TRY(set_plan_handle(plan->plan, target->handle));
  TRY_CUDNN(cudnnBackendSetAttribute(plan->plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG,
                                     CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &configuration));
  if (target->description)
    TRY_CUDNN(cudnnBackendSetAttribute(plan->plan, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP,
                                       CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &target->description));
  TRY(finalize_or_destroy(&plan->plan));
  return read_workspace(plan);
}

static bool create_configurations(Descriptor configurations[PLAN_CANDIDATES]) {
  for (int i = 0; i < PLAN_CANDIDATES; i++)
    TRY_CUDNN(cudnnBackendCreateDescriptor(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, &configurations[i]));
  return true;
}

bool plan_make(const CudnnGraph *graph, const PlanTarget *target, int wanted, PlanList *list) {
  Descriptor heuristics = NULL, configurations[PLAN_CANDIDATES] = {NULL};
  int64_t proposed = 0;
  *list = (PlanList){0};
  bool ok = query_heuristics(graph, target, &heuristics) && create_configurations(configurations);
  if (ok && cudnnBackendGetAttribute(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                     CUDNN_TYPE_BACKEND_DESCRIPTOR, PLAN_CANDIDATES, &proposed,
                                     configurations))
    ok = probe_fail(__FILE__, __LINE__, "the heuristics gave no answer");
  if (ok && proposed == 0)
    ok = probe_fail(__FILE__, __LINE__, "the heuristics propose no engine for this graph");
  for (int64_t i = 0; ok && i < proposed && i < PLAN_CANDIDATES && list->count < wanted; i++) {
    CudnnPlan *plan = &list->plans[list->count];
    if (make_one(configurations[i], target, plan)) {
      list->count++;
    } else {
      plan_free(plan);
    }
  }
  for (int i = 0; i < PLAN_CANDIDATES; i++)
    if (configurations[i]) (void)cudnnBackendDestroyDescriptor(configurations[i]);
  if (heuristics) (void)cudnnBackendDestroyDescriptor(heuristics);
  return ok && list->count > 0;
}

void plan_list_free(PlanList *list) {
  for (int i = 0; i < list->count; i++)
    plan_free(&list->plans[i]);
  list->count = 0;
}

bool plan_load(cudnnHandle_t handle, const char *json, CudnnPlan *plan) {
  *plan = (CudnnPlan){.engine = -1};
  TRY_CUDNN(cudnnBackendCreateDescriptor(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, &plan->plan));
  TRY_CUDNN(cudnnBackendSetAttribute(plan->plan, CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION,
                                     CUDNN_TYPE_CHAR, (int64_t)strlen(json), json));
  TRY(set_plan_handle(plan->plan, handle));
  TRY(finalize_or_destroy(&plan->plan));
  return read_workspace(plan);
}

void plan_free(CudnnPlan *plan) {
  if (plan->plan) (void)cudnnBackendDestroyDescriptor(plan->plan);
  plan->plan = NULL;
}

static bool execute(cudnnHandle_t handle, const CudnnPlan *plan, Descriptor pack) {
  TRY_CUDNN(cudnnBackendFinalize(pack));
  TRY_CUDNN(cudnnBackendExecute(handle, plan->plan, pack));
  return true;
}

static bool fill_pack(Descriptor pack, int64_t count, const int64_t *ids, void *const *pointers,
                      void *workspace) {
  TRY_CUDNN(cudnnBackendSetAttribute(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64,
                                     count, ids));
  TRY_CUDNN(cudnnBackendSetAttribute(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS,
                                     CUDNN_TYPE_VOID_PTR, count, (const void *)pointers));
  TRY_CUDNN(cudnnBackendSetAttribute(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR,
                                     1, (const void *)&workspace));
  return true;
}

bool plan_execute(cudnnHandle_t handle, const CudnnPlan *plan, int64_t count, const int64_t *ids,
                  void *const *pointers, void *workspace) {
  Descriptor pack;
  TRY_CUDNN(cudnnBackendCreateDescriptor(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, &pack));
  bool ok = fill_pack(pack, count, ids, pointers, workspace) && execute(handle, plan, pack);
  (void)cudnnBackendDestroyDescriptor(pack);
  return ok;
}
