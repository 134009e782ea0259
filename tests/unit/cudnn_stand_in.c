/* cudnn_stand_in.c -- see cudnn_stand_in.h: descriptors, engines and plans. What a graph computes
 * is cudnn_interpret.c's. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/cudnn_interpret.h"
#include "tests/unit/cudnn_stand_in_says.h"

struct DnnHandle {
  void *stream;
  bool has_stream;
};

static CudnnStandInSays says;
static atomic_llong calls, compiled, live;
/* Of this thread: two ranks may time plans at once. */
static _Thread_local int64_t own_calls, last_engine, last_operations;

void cudnn_says(const CudnnStandInSays *now);
void cudnn_says(const CudnnStandInSays *now) {
  says = *now;
}

void cudnn_sees(CudnnStandInSeen *seen);
void cudnn_sees(CudnnStandInSeen *seen) {
  *seen = (CudnnStandInSeen){.calls = atomic_load(&calls),
                             .compiled = atomic_load(&compiled),
                             .live = atomic_load(&live),
                             .own_calls = own_calls,
                             .engine = last_engine,
                             .operations = last_operations};
}

static int refuse(int status, const char *why) {
  fprintf(stderr, "cuDNN's stand-in: %s\n", why);
  return status;
}

/* ---- which attributes a kind has; count 0: any; `part`: of which kind a descriptor there is */

typedef struct Allowed {
  int kind, attribute, type;
  int64_t count;
  bool must;
  int part;
} Allowed;

static const Allowed allowed[] = {
    {DNN_TENSOR, DNN_TENSOR_ID, DNN_AS_INT64, 1, true, 0},
    {DNN_TENSOR, DNN_TENSOR_TYPE, DNN_AS_DATA_TYPE, 1, true, 0},
    {DNN_TENSOR, DNN_TENSOR_SIZES, DNN_AS_INT64, 4, true, 0},
    {DNN_TENSOR, DNN_TENSOR_STRIDES, DNN_AS_INT64, 4, true, 0},
    {DNN_TENSOR, DNN_TENSOR_ALIGNMENT, DNN_AS_INT64, 1, true, 0},
    {DNN_TENSOR, DNN_TENSOR_IS_VIRTUAL, DNN_AS_BOOLEAN, 1, false, 0},
    {DNN_TENSOR, DNN_TENSOR_IS_VALUE, DNN_AS_BOOLEAN, 1, false, 0},
    {DNN_MATMUL, DNN_MATMUL_PRECISION, DNN_AS_DATA_TYPE, 1, true, 0},
    {DNN_OPERATION_MATMUL, DNN_OPERATION_MATMUL_A, DNN_AS_DESCRIPTOR, 1, true, DNN_TENSOR},
    {DNN_OPERATION_MATMUL, DNN_OPERATION_MATMUL_B, DNN_AS_DESCRIPTOR, 1, true, DNN_TENSOR},
    {DNN_OPERATION_MATMUL, DNN_OPERATION_MATMUL_C, DNN_AS_DESCRIPTOR, 1, true, DNN_TENSOR},
    {DNN_OPERATION_MATMUL, DNN_OPERATION_MATMUL_MATMUL, DNN_AS_DESCRIPTOR, 1, true, DNN_MATMUL},
    {DNN_POINTWISE, DNN_POINTWISE_MODE, DNN_AS_POINTWISE_MODE, 1, true, 0},
    {DNN_POINTWISE, DNN_POINTWISE_PRECISION, DNN_AS_DATA_TYPE, 1, true, 0},
    {DNN_POINTWISE, DNN_POINTWISE_AXIS, DNN_AS_INT64, 1, false, 0},
    {DNN_OPERATION_POINTWISE, DNN_OPERATION_POINTWISE_POINTWISE, DNN_AS_DESCRIPTOR, 1, true,
     DNN_POINTWISE},
    {DNN_OPERATION_POINTWISE, DNN_OPERATION_POINTWISE_X, DNN_AS_DESCRIPTOR, 1, true, DNN_TENSOR},
    {DNN_OPERATION_POINTWISE, DNN_OPERATION_POINTWISE_B, DNN_AS_DESCRIPTOR, 1, false, DNN_TENSOR},
    {DNN_OPERATION_POINTWISE, DNN_OPERATION_POINTWISE_T, DNN_AS_DESCRIPTOR, 1, false, DNN_TENSOR},
    {DNN_OPERATION_POINTWISE, DNN_OPERATION_POINTWISE_Y, DNN_AS_DESCRIPTOR, 1, true, DNN_TENSOR},
    {DNN_REDUCTION, DNN_REDUCTION_OPERATOR, DNN_AS_REDUCTION, 1, true, 0},
    {DNN_REDUCTION, DNN_REDUCTION_PRECISION, DNN_AS_DATA_TYPE, 1, true, 0},
    {DNN_OPERATION_REDUCTION, DNN_OPERATION_REDUCTION_X, DNN_AS_DESCRIPTOR, 1, true, DNN_TENSOR},
    {DNN_OPERATION_REDUCTION, DNN_OPERATION_REDUCTION_Y, DNN_AS_DESCRIPTOR, 1, true, DNN_TENSOR},
    {DNN_OPERATION_REDUCTION, DNN_OPERATION_REDUCTION_REDUCTION, DNN_AS_DESCRIPTOR, 1, true,
     DNN_REDUCTION},
    {DNN_OPERATION_RESHAPE, DNN_OPERATION_RESHAPE_X, DNN_AS_DESCRIPTOR, 1, true, DNN_TENSOR},
    {DNN_OPERATION_RESHAPE, DNN_OPERATION_RESHAPE_Y, DNN_AS_DESCRIPTOR, 1, true, DNN_TENSOR},
    {DNN_GRAPH, DNN_GRAPH_HANDLE, DNN_AS_HANDLE, 1, true, 0},
    {DNN_GRAPH, DNN_GRAPH_OPERATIONS, DNN_AS_DESCRIPTOR, 0, true, -1},
    {DNN_HEURISTICS, DNN_HEURISTICS_GRAPH, DNN_AS_DESCRIPTOR, 1, true, DNN_GRAPH},
    {DNN_HEURISTICS, DNN_HEURISTICS_MODE, DNN_AS_HEURISTICS_MODE, 1, true, 0},
    {DNN_PLAN, DNN_PLAN_HANDLE, DNN_AS_HANDLE, 1, true, 0},
    {DNN_PLAN, DNN_PLAN_CONFIG, DNN_AS_DESCRIPTOR, 1, true, DNN_CONFIG},
    {DNN_PACK, DNN_PACK_IDS, DNN_AS_INT64, 0, true, 0},
    {DNN_PACK, DNN_PACK_ADDRESSES, DNN_AS_ADDRESS, 0, true, 0},
    {DNN_PACK, DNN_PACK_WORKSPACE, DNN_AS_ADDRESS, 1, true, 0},
};

enum { ALLOWED = sizeof allowed / sizeof *allowed };

static size_t bytes_of(int type) {
  switch (type) {
  case DNN_AS_BOOLEAN: return sizeof(bool);
  case DNN_AS_HANDLE:
  case DNN_AS_ADDRESS:
  case DNN_AS_DESCRIPTOR: return sizeof(void *);
  case DNN_AS_INT64: return sizeof(int64_t);
  default: return sizeof(int32_t);
  }
}

static const Allowed *allowed_of(int kind, int attribute) {
  for (int i = 0; i < ALLOWED; i++)
    if (allowed[i].kind == kind && allowed[i].attribute == attribute) return &allowed[i];
  return NULL;
}

static bool is_operation(const Descriptor *d) {
  return d->kind == DNN_OPERATION_MATMUL || d->kind == DNN_OPERATION_POINTWISE ||
         d->kind == DNN_OPERATION_REDUCTION || d->kind == DNN_OPERATION_RESHAPE;
}

/* All that it must have, and parts that are finished and of the right kind. */
static int check(const Descriptor *d) {
  for (int i = 0; i < ALLOWED; i++) {
    const Allowed *rule = &allowed[i];
    if (rule->kind != d->kind) continue;
    const Attribute *a = attribute_of(d, rule->attribute);
    if (a == NULL && rule->must) return refuse(DNN_BAD_PARAM, "an attribute is missing");
    for (int64_t k = 0; a != NULL && rule->type == DNN_AS_DESCRIPTOR && k < a->count; k++) {
      const Descriptor *part = ((Descriptor *const *)a->values)[k];
      bool fits = part != NULL && (rule->part < 0 ? is_operation(part) : part->kind == rule->part);
      if (!fits || !part->is_final)
        return refuse(DNN_BAD_PARAM, "a part is not finished, or of another kind");
    }
  }
  return DNN_DONE;
}

/* NOLINTBEGIN(readability-identifier-naming): the names are the library's */

size_t cudnnGetVersion(void);
size_t cudnnGetVersion(void) {
  return 91900;
}

const char *cudnnGetErrorString(int status);
const char *cudnnGetErrorString(int status) {
  return status == DNN_DONE            ? "CUDNN_STATUS_SUCCESS"
         : status == DNN_NOT_SUPPORTED ? "CUDNN_STATUS_NOT_SUPPORTED"
                                       : "CUDNN_STATUS_BAD_PARAM";
}

int cudnnCreate(DnnHandle **handle);
int cudnnCreate(DnnHandle **handle) {
  static DnnHandle only;
  *handle = &only;
  return DNN_DONE;
}

int cudnnSetStream(DnnHandle *handle, void *stream);
int cudnnSetStream(DnnHandle *handle, void *stream) {
  handle->stream = stream;
  handle->has_stream = true;
  return DNN_DONE;
}

int cudnnBackendCreateDescriptor(int kind, Descriptor **descriptor);
int cudnnBackendCreateDescriptor(int kind, Descriptor **descriptor) {
  *descriptor = calloc(1, sizeof **descriptor);
  if (*descriptor == NULL) return DNN_BAD_PARAM;
  (*descriptor)->kind = kind;
  atomic_fetch_add(&live, 1);
  return DNN_DONE;
}

int cudnnBackendDestroyDescriptor(Descriptor *descriptor);
int cudnnBackendDestroyDescriptor(Descriptor *descriptor) {
  for (int i = 0; i < descriptor->count; i++)
    free(descriptor->attribute[i].values);
  free(descriptor);
  atomic_fetch_sub(&live, 1);
  return DNN_DONE;
}

int cudnnBackendSetAttribute(Descriptor *d, int attribute, int type, int64_t count,
                             const void *values);
int cudnnBackendSetAttribute(Descriptor *d, int attribute, int type, int64_t count,
                             const void *values) {
  const Allowed *rule = allowed_of(d->kind, attribute);
  if (d->is_final) return refuse(DNN_BAD_PARAM, "an attribute of a finished descriptor");
  if (rule == NULL) return refuse(DNN_BAD_PARAM, "an attribute that its kind does not have");
  if (rule->type != type || count <= 0 || (rule->count > 0 && rule->count != count))
    return refuse(DNN_BAD_PARAM, "an attribute of another type or count");
  if (attribute_of(d, attribute) != NULL || d->count == ATTRIBUTES_MAX)
    return refuse(DNN_BAD_PARAM, "an attribute that is set already");
  void *kept = malloc((size_t)count * bytes_of(type));
  if (kept == NULL) return DNN_BAD_PARAM;
  memcpy(kept, values, (size_t)count * bytes_of(type));
  d->attribute[d->count++] = (Attribute){attribute, count, kept};
  return DNN_DONE;
}

/* ---- engines: 2 and, with less workspace, 1 */

static int64_t workspace_of(const Descriptor *config) {
  return interpret_workspace_bytes(config->graph) +
         (config->engine == 2 ? says.first_wants_bytes : 0);
}

static int give_configs(const Descriptor *heuristics, int64_t wanted, int64_t *count,
                        Descriptor **configs) {
  *count = says.has_no_engine ? 0 : wanted < 2 ? wanted : 2;
  for (int64_t i = 0; i < *count; i++) {
    if (configs[i] == NULL || configs[i]->kind != DNN_CONFIG)
      return refuse(DNN_BAD_PARAM, "results without a descriptor to fill");
    configs[i]->graph = part_of(heuristics, DNN_HEURISTICS_GRAPH);
    configs[i]->engine = 2 - i;
    configs[i]->is_final = true;
  }
  return DNN_DONE;
}

static int give_number(int64_t number, int type, int64_t *count, void *values) {
  if (type != DNN_AS_INT64) return refuse(DNN_BAD_PARAM, "a number of another type");
  memcpy(values, &number, sizeof number);
  *count = 1;
  return DNN_DONE;
}

int cudnnBackendGetAttribute(Descriptor *d, int attribute, int type, int64_t wanted, int64_t *count,
                             void *values);
int cudnnBackendGetAttribute(Descriptor *d, int attribute, int type, int64_t wanted, int64_t *count,
                             void *values) {
  if (!d->is_final) return refuse(DNN_BAD_PARAM, "an attribute of an unfinished descriptor");
  if (d->kind == DNN_HEURISTICS && attribute == DNN_HEURISTICS_RESULTS)
    return give_configs(d, wanted, count, values);
  if (d->kind == DNN_CONFIG && attribute == DNN_CONFIG_WORKSPACE)
    return give_number(workspace_of(d), type, count, values);
  if (d->kind == DNN_PLAN && attribute == DNN_PLAN_WORKSPACE)
    return give_number(workspace_of(part_of(d, DNN_PLAN_CONFIG)), type, count, values);
  if (d->kind == DNN_CONFIG && attribute == DNN_CONFIG_ENGINE) {
    Descriptor *engine = *(Descriptor **)values;
    engine->engine = d->engine;
    engine->is_final = true;
    return DNN_DONE;
  }
  if (d->kind == DNN_ENGINE && attribute == DNN_ENGINE_INDEX)
    return give_number(d->engine, type, count, values);
  return refuse(DNN_BAD_PARAM, "an attribute that nobody may ask for");
}

int cudnnBackendFinalize(Descriptor *d);
int cudnnBackendFinalize(Descriptor *d) {
  const char *why = NULL;
  int status = check(d);
  if (status != DNN_DONE) return status;
  if (d->kind == DNN_PLAN && says.refuses_plans) return DNN_NOT_SUPPORTED;
  if (d->kind == DNN_PLAN && says.cannot_compile) return DNN_INTERNAL + 1; /* as without NVRTC */
  if (d->kind == DNN_PLAN) atomic_fetch_add(&compiled, 1);
  if (!interpret_check(d, &why)) return refuse(DNN_BAD_PARAM, why);
  d->is_final = true;
  return DNN_DONE;
}

int cudnnBackendExecute(DnnHandle *handle, Descriptor *plan, Descriptor *pack);
int cudnnBackendExecute(DnnHandle *handle, Descriptor *plan, Descriptor *pack) {
  const char *why = NULL;
  if (!handle->has_stream || !plan->is_final || !pack->is_final || pack->kind != DNN_PACK)
    return refuse(DNN_BAD_PARAM, "a call without a stream, a plan or addresses");
  if (says.fails) return DNN_NOT_SUPPORTED;
  const Descriptor *config = part_of(plan, DNN_PLAN_CONFIG);
  if (!interpret_run(config->graph, pack, workspace_of(config), &why))
    return refuse(DNN_BAD_PARAM, why);
  last_engine = config->engine;
  last_operations = attribute_of(config->graph, DNN_GRAPH_OPERATIONS)->count;
  own_calls++;
  atomic_fetch_add(&calls, 1);
  return DNN_DONE;
}
/* NOLINTEND(readability-identifier-naming) */
