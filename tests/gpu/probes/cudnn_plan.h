/* cudnn_plan.h -- from an operation graph to something that runs: engine, plan, execution.
 *
 * A plan is made either for the device at hand (handle) or for one that is only described (a
 * DEVICEPROP descriptor made from JSON). The second kind works without a GPU, but only where a
 * libcuda.so.1 can be loaded: see null_driver.c.
 */
#ifndef GPU_CUDNN_PLAN_H
#define GPU_CUDNN_PLAN_H

#include <stddef.h>

#include "tests/gpu/probes/cudnn_graph.h"

enum { PLAN_CANDIDATES = 8 };

/* The graph that a plan is made for: exactly one of the two is set. */
typedef struct {
  cudnnHandle_t handle;
  Descriptor description;
} PlanTarget;

typedef struct {
  Descriptor plan;
  int64_t engine; /* index among the engines cuDNN has for this graph; -1 for a loaded plan */
  int64_t workspace_bytes;
} CudnnPlan;

/* Makes a description from its JSON, or from the device of `handle`. Destroy it after use. */
bool description_from_json(const char *json, Descriptor *description);
bool description_from_device(cudnnHandle_t handle, Descriptor *description);

/* The JSON of a description or of a plan, zero-terminated; the caller frees it. NULL: failed. */
char *description_json(Descriptor description);
char *plan_json(const CudnnPlan *plan);

/* Makes up to `wanted` plans from the engine configurations the heuristics propose, best first,
 * leaving out those that cannot be finalised. Each may take a second: the kernel is compiled.
 * Fails, with the last reason, when none remains. */
typedef struct {
  CudnnPlan plans[PLAN_CANDIDATES];
  int count;
} PlanList;

bool plan_make(const CudnnGraph *graph, const PlanTarget *target, int wanted, PlanList *list);
void plan_list_free(PlanList *list);

bool plan_load(cudnnHandle_t handle, const char *json, CudnnPlan *plan);
void plan_free(CudnnPlan *plan);

/* ids[i] is bound to pointers[i]: device addresses, or host addresses of by-value scalars. */
bool plan_execute(cudnnHandle_t handle, const CudnnPlan *plan, int64_t count, const int64_t *ids,
                  void *const *pointers, void *workspace);

#endif
