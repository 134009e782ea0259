/* cudnn_plan.h -- from a graph of operations to what runs it: an engine of cuDNN, compiled. */
#ifndef LOCKSTEP_CUDNN_PLAN_H
#define LOCKSTEP_CUDNN_PLAN_H

#include "kernels/cuda/cudnn_graph.h"

/* The GPU: one of the two is set. */
typedef struct DnnTarget {
  DnnHandle *handle;       /* of a GPU that is there */
  DnnDescriptor described; /* of one that is not: a plan for it is not run */
} DnnTarget;

typedef struct DnnPlan {
  const DnnApi *api;
  DnnDescriptor config, plan;
  int64_t engine, workspace_bytes;
  int64_t number; /* of the configuration, among those that cuDNN recommends */
} DnnPlan;

/* The time of a run of a plan, in ns; INT64_MAX: it cannot run. */
typedef int64_t DnnTry(void *context, const DnnPlan *plan);

enum { DNN_TRIES_MOST = 3 }; /* each is compiled */

/* The times of the plan that was taken, and of the first. */
typedef struct DnnTimes {
  int64_t took_ns, first_ns;
} DnnTimes;

typedef enum DnnFound {
  DNN_FOUND,
  DNN_NO_ENGINE,       /* cuDNN does not have it */
  DNN_WANTS_WORKSPACE, /* but with more workspace it has */
  DNN_CANNOT_COMPILE   /* it has, but something that it needs to compile code is not there */
} DnnFound;

/* The first engine that cuDNN recommends for the graph that needs no more workspace than given. It
 * may compile code: about half a second. */
DnnFound dnn_plan_make(const DnnGraph *graph, const DnnTarget *target, int64_t workspace_most,
                       DnnPlan *plan);
/* The same of the configuration of this number, if it is of this engine. */
DnnFound dnn_plan_again(const DnnGraph *graph, const DnnTarget *target, int64_t workspace_most,
                        int64_t number, int64_t engine, DnnPlan *plan);
/* The fastest of the first ones that fit. */
DnnFound dnn_plan_fastest(const DnnGraph *graph, const DnnTarget *target, int64_t workspace_most,
                          DnnTry *time, void *context, DnnPlan *plan, DnnTimes *times);
/* The same engine's workspace, as its configuration says it: nothing is compiled, and the plan
 * cannot run. */
DnnFound dnn_plan_look(const DnnGraph *graph, const DnnTarget *target, int64_t workspace_most,
                       DnnPlan *plan);
void dnn_plan_free(DnnPlan *plan);

/* Issues it to the handle's stream; address[i] is that of the tensor id[i]. Returns the library's
 * status. */
int dnn_plan_run(const DnnPlan *plan, DnnHandle *handle, int64_t count, const int64_t *id,
                 void *const *address, void *workspace);

#endif
