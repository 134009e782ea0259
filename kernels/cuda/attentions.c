#include "kernels/cuda/attentions.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/choices.h"
#include "kernels/cuda/cudnn_plan.h"
#include "kernels/cuda/fill.h"
#include "kernels/cuda/products_timed.h"
#include "kernels/cuda/variants.h"
#include "kernels/prepare.h"

/* A plan, for all records of its shape on its GPU. */
typedef struct Shared {
  struct Shared *next;
  int32_t gpu, users;
  AttentionShape shape;
  int64_t workspace_most;
  ChoiceKey key; /* of its choice */
  DnnGraph graph;
  DnnPlan plan;
} Shared;

/* The state of a record, used by every call. */
typedef struct Attending {
  Shared *shared;
  float scale, one, hidden;
} Attending;

/* Handles are of one thread at a time. */
typedef struct AttentionGpu {
  DnnHandle *handle;
  pthread_mutex_t lock;
} AttentionGpu;

static struct {
  pthread_mutex_t lock;
  const DnnApi *api; /* NULL: none, and */
  const char *missing;
  ProductGpu *gpu;
  AttentionGpu gpus[PRODUCT_GPUS_MAX];
  Shared *shared;
  Kernel kernels[KERNEL_COUNT];
} dnn = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- preparing */

static AttentionGpu *gpu_of(int32_t number) {
  if (number < 0 || number >= PRODUCT_GPUS_MAX) return NULL;
  AttentionGpu *gpu = &dnn.gpus[number];
  pthread_mutex_lock(&dnn.lock);
  if (gpu->handle == NULL && dnn.api->create(&gpu->handle) == DNN_DONE)
    (void)pthread_mutex_init(&gpu->lock, NULL);
  pthread_mutex_unlock(&dnn.lock);
  return gpu->handle != NULL ? gpu : NULL;
}

static Shared *find(int32_t gpu, const AttentionShape *shape, int64_t workspace_most) {
  pthread_mutex_lock(&dnn.lock);
  Shared *at = dnn.shared;
  while (at != NULL && (at->gpu != gpu || at->workspace_most != workspace_most ||
                        !attention_shape_same(&at->shape, shape)))
    at = at->next;
  if (at != NULL) at->users++;
  pthread_mutex_unlock(&dnn.lock);
  return at;
}

static void free_shared(Shared *shared) {
  dnn_plan_free(&shared->plan);
  dnn_graph_free(&shared->graph);
  free(shared);
}

/* ---- which of cuDNN's plans: the one that is kept, or the fastest, or the first */

static KernelStatus attend(const KernelArgs *args, const char **why);
static const char lost_plan[] = "cuDNN does not offer the plan any more that is kept for it, and "
                                "another one would round otherwise";

static ChoiceKey key_of(const AttentionShape *s, int64_t workspace_most, const char *gpu) {
  ChoiceKey key = {.version = dnn.api->get_version(), .workspace_most = (uint64_t)workspace_most};
  (void)snprintf(key.gpu, sizeof key.gpu, "%s", gpu);
  (void)snprintf(
      key.attention, sizeof key.attention,
      "%s %s batch %d seq %d of %d keys %d heads %d over %d of %d strides %d %d %d %d %d "
      "%d%s%s",
      s->is_backward ? "backward" : "forward", s->is_f16 ? "f16" : "bf16", (int)s->batch,
      (int)s->seq, (int)s->sample, (int)s->keys, (int)s->heads, (int)s->kv_heads, (int)s->head,
      (int)s->q_stride, (int)s->k_stride, (int)s->v_stride, (int)s->d_q_stride, (int)s->d_k_stride,
      (int)s->d_v_stride, s->causal ? " causal" : "", s->is_ordered ? " ordered" : "");
  return key;
}

/* A record with a plan that is tried, on operands of its sizes. */
typedef struct AttentionTrial {
  KernelArgs args;
  void *operand[KERNEL_OPERANDS_MAX];
  Attending attending;
  Shared shared;
} AttentionTrial;

static bool run_trial(const void *context, void *stream) {
  const AttentionTrial *t = context;
  KernelArgs args = t->args;
  const char *why = NULL;
  args.stream = stream;
  return attend(&args, &why) == KERNEL_DONE;
}

static int64_t try_plan(void *context, const DnnPlan *plan) {
  AttentionTrial *t = context;
  t->shared.plan = *plan;
  return lent_run_ns(run_trial, t);
}

/* False: the borrowed memory has no room for the operands. */
static bool place(AttentionTrial *t, const Shared *made, const KernelUse *use) {
  uint64_t used = 0;
  t->shared = *made;
  t->attending = (Attending){&t->shared, (float)use->attr[1], 1, -INFINITY};
  t->args = (KernelArgs){.operand = t->operand,
                         .dtype = use->dtype,
                         .bytes = use->bytes,
                         .dim = use->dim,
                         .attr = use->attr,
                         .operand_count = use->operand_count,
                         .state = &t->attending};
  for (int32_t i = 0; i < use->operand_count; i++) {
    t->operand[i] = lent_take(&used, (uint64_t)use->bytes[i], use->align_bytes, use->dtype[i]);
    if (t->operand[i] == NULL) return false;
  }
  return true;
}

static DnnFound choose_plan(Shared *made, const DnnTarget *target, const KernelUse *use,
                            bool *is_lost) {
  LtChoice choice = {0};
  AttentionTrial trial;
  DnnTimes times = {0};
  DnnFound found = DNN_NO_ENGINE;
  const bool is_kept = choices_find(&made->key, &choice);
  if (is_kept)
    found = dnn_plan_again(&made->graph, target, made->workspace_most,
                           (int64_t)choice.algorithm.data[0], choice.id, &made->plan);
  *is_lost = is_kept && found != DNN_FOUND && choices_are_held();
  if (found == DNN_FOUND || *is_lost) return found;
  if (choices_are_held() || !lent_may_try() || !place(&trial, made, use))
    return dnn_plan_make(&made->graph, target, made->workspace_most, &made->plan);
  found = dnn_plan_fastest(&made->graph, target, made->workspace_most, try_plan, &trial,
                           &made->plan, &times);
  if (found != DNN_FOUND || times.took_ns == INT64_MAX) return found;
  choice = (LtChoice){.shape = made->key,
                      .id = (int32_t)made->plan.engine,
                      .took_ns = times.took_ns,
                      .first_ns = times.first_ns,
                      .driver = lent_driver()};
  choice.algorithm.data[0] = (uint64_t)made->plan.number;
  (void)choices_add(&choice);
  return found;
}

/* The plan of a choice that another rank has made. */
static bool settle(Shared *shared) {
  LtChoice choice;
  DnnPlan plan;
  if (!choices_find(&shared->key, &choice) ||
      (int64_t)choice.algorithm.data[0] == shared->plan.number)
    return true;
  const DnnTarget target = {.handle = dnn.gpus[shared->gpu].handle};
  if (dnn_plan_again(&shared->graph, &target, shared->workspace_most,
                     (int64_t)choice.algorithm.data[0], choice.id, &plan) != DNN_FOUND)
    return false;
  dnn_plan_free(&shared->plan);
  shared->plan = plan;
  return true;
}

bool attentions_settle(void) {
  bool all = true;
  pthread_mutex_lock(&dnn.lock);
  for (Shared *at = dnn.shared; at != NULL; at = at->next)
    all = settle(at) && all;
  pthread_mutex_unlock(&dnn.lock);
  return all;
}

/* Not under the lock, for it compiles; a GPU is one thread's, so that no other makes the same. */
static Shared *make(int32_t number, DnnHandle *handle, const AttentionShape *shape,
                    int64_t workspace_most, const KernelUse *use, const char **why) {
  const char *gpu_name = "";
  bool is_lost = false;
  Shared *made = calloc(1, sizeof *made);
  *why = "no memory";
  if (made == NULL) return NULL;
  *made = (Shared){.gpu = number, .users = 1, .shape = *shape, .workspace_most = workspace_most};
  (void)dnn.gpu(&gpu_name);
  made->key = key_of(shape, workspace_most, gpu_name);
  dnn_graph_start(&made->graph, dnn.api);
  attention_graph(&made->graph, shape);
  DnnTarget target = {.handle = handle};
  DnnFound found = DNN_NO_ENGINE;
  if (dnn_graph_finish(&made->graph, handle)) found = choose_plan(made, &target, use, &is_lost);
  *why = is_lost                  ? lost_plan
         : found == DNN_NO_ENGINE ? "no engine of cuDNN takes the shape"
         : found == DNN_CANNOT_COMPILE
             ? "cuDNN cannot compile it; libnvrtc.so and libnvrtc-builtins.so in LD_LIBRARY_PATH?"
             : "cuDNN wants more scratch than the plan gives";
  if (found != DNN_FOUND) {
    free_shared(made);
    return NULL;
  }
  pthread_mutex_lock(&dnn.lock);
  made->next = dnn.shared;
  dnn.shared = made;
  pthread_mutex_unlock(&dnn.lock);
  return made;
}

static void let_go(Shared *shared) {
  pthread_mutex_lock(&dnn.lock);
  bool is_last = --shared->users == 0;
  Shared **at = &dnn.shared;
  while (is_last && *at != shared)
    at = &(*at)->next;
  if (is_last) *at = shared->next;
  pthread_mutex_unlock(&dnn.lock);
  if (is_last) free_shared(shared);
}

/* The scratch of a record: cuDNN's own, then the sums of d_q, then the terms; the first two take
 * whole 16 bytes, because heads do. */
static int64_t whole_units(int64_t bytes) {
  return (bytes + DNN_ALIGN_BYTES - 1) / DNN_ALIGN_BYTES * DNN_ALIGN_BYTES;
}

static int64_t arrays_bytes(const AttentionShape *shape) {
  return attention_d_q_sum_bytes(shape) + attention_terms_bytes(shape);
}

static int64_t scratch_bytes(const KernelUse *use, bool is_backward) {
  int32_t scratch = is_backward ? 9 : 5;
  return use->operand_count > scratch ? use->bytes[scratch] : 0;
}

/* NULL: `why` says why it is left to our own kernel. Where bits must repeat, no engine adds to d_q
 * as blocks of keys come: cuDNN's own notes of such engines do not say so. */
static Shared *share(KernelId id, const KernelUse *use, const char **why) {
  const char *name = "";
  AttentionShape shape = attention_shape_of(id, use, why);
  if (dnn.api == NULL) *why = dnn.missing;
  if (*why != NULL) return NULL;
  shape.is_ordered = shape.is_backward && choices_are_held();
  int64_t most = scratch_bytes(use, shape.is_backward) - arrays_bytes(&shape);
  most = most / DNN_ALIGN_BYTES * DNN_ALIGN_BYTES;
  *why = "cuDNN wants more scratch than the plan gives";
  if (most < 0) return NULL;
  int32_t number = dnn.gpu(&name);
  AttentionGpu *gpu = gpu_of(number);
  *why = "cuDNN cannot use the GPU";
  if (gpu == NULL) return NULL;
  Shared *found = find(number, &shape, most);
  return found != NULL ? found : make(number, gpu->handle, &shape, most, use, why);
}

/* Counts the record: `why` for a kernel of our own; NULL: the library runs it. */
static void count_record(KernelId id, const KernelUse *use, const char *why) {
  char library[ATTENTION_BY_BYTES] = "";
  const size_t version = why == NULL ? dnn.api->get_version() : 0;
  (void)snprintf(library, sizeof library, "cuDNN %zu.%zu.%zu", version / 10000, version / 100 % 100,
                 version % 100);
  attention_told_add(contract_of(id)->row->name, use->path != NULL ? use->path : "", library, why);
}

static KernelStatus prepare(const Kernel *kernel, const KernelUse *use, void **state,
                            const char **why) {
  KernelStatus checked = kernel_check_use(kernel, use, state, why);
  if (checked != KERNEL_DONE) return checked;
  const char *why_own = NULL;
  Attending *attending = calloc(1, sizeof *attending);
  *why = "there is no memory for it";
  if (attending == NULL) return KERNEL_FAILED;
  *why = NULL;
  *attending = (Attending){share(kernel->id, use, &why_own), (float)use->attr[1], 1, -INFINITY};
  if (why_own == lost_plan) {
    free(attending);
    *why = lost_plan;
    return KERNEL_FAILED;
  }
  count_record(kernel->id, use, attending->shared != NULL ? NULL : why_own);
  if (attending->shared != NULL)
    *state = attending;
  else
    free(attending);
  return KERNEL_DONE;
}

static void release(void *state) {
  Attending *attending = state;
  if (attending == NULL) return;
  let_go(attending->shared);
  free(attending);
}

/* ---- running */

typedef struct Bound {
  int64_t id[ATTENTION_TENSORS];
  void *at[ATTENTION_TENSORS];
  int64_t count;
} Bound;

static void bind(Bound *bound, AttentionTensor id, void *at) {
  bound->id[bound->count] = id;
  bound->at[bound->count++] = at;
}

static void bind_operands(Bound *bound, const AttentionTensor *ids, int32_t count,
                          const KernelArgs *args) {
  for (int32_t i = 0; i < count; i++)
    bind(bound, ids[i], args->operand[i]);
}

/* Skips the queries at the front of a sample that see nothing. */
static void skip_unseeing(Bound *bound, const AttentionShape *shape) {
  const int64_t tokens = shape->sample - shape->seq, out = shape->heads * shape->head * 2;
  for (int64_t i = 0; i < bound->count; i++) {
    char **at = (char **)&bound->at[i];
    switch (bound->id[i]) {
    case ATTENTION_Q: *at += tokens * shape->q_stride * 2; break;
    case ATTENTION_D_Q: *at += tokens * shape->d_q_stride * 2; break;
    case ATTENTION_OUT:
    case ATTENTION_D_OUT: *at += tokens * out; break;
    case ATTENTION_LSE: *at += tokens * (int64_t)sizeof(float); break;
    default: break;
    }
  }
}

static void bind_all(Bound *bound, Attending *attending, const KernelArgs *args) {
  static const AttentionTensor forward[] = {ATTENTION_Q, ATTENTION_K, ATTENTION_V, ATTENTION_OUT,
                                            ATTENTION_LSE};
  static const AttentionTensor backward[] = {ATTENTION_D_OUT, ATTENTION_Q,   ATTENTION_K,
                                             ATTENTION_V,     ATTENTION_OUT, ATTENTION_LSE,
                                             ATTENTION_D_Q,   ATTENTION_D_K, ATTENTION_D_V};
  const AttentionShape *shape = &attending->shared->shape;
  bind_operands(bound, shape->is_backward ? backward : forward, shape->is_backward ? 9 : 5, args);
  skip_unseeing(bound, shape);
  bind(bound, ATTENTION_SCALE, &attending->scale);
  if (shape->causal) bind(bound, ATTENTION_HIDDEN, &attending->hidden);
  if (!shape->is_backward) return;
  char *sums = (char *)args->operand[9] + whole_units(attending->shared->plan.workspace_bytes);
  bind(bound, ATTENTION_ONE, &attending->one);
  if (!shape->is_ordered) bind(bound, ATTENTION_D_Q_SUM, sums);
  bind(bound, ATTENTION_TERMS, sums + attention_d_q_sum_bytes(shape));
}

/* Fills in what the graph does not write: queries that see nothing, and keys that no query sees. */
static KernelStatus fill_unseen(const AttentionShape *shape, const KernelArgs *args,
                                const char **why) {
  const int64_t queries = shape->sample - shape->seq, keys = shape->sample - shape->keys;
  const uint32_t dtype = args->dtype[0];
  const int64_t width = shape->heads * shape->head, kv_width = shape->kv_heads * shape->head;
  KernelStatus status = KERNEL_DONE;
  if (queries > 0 && !shape->is_backward) {
    const FillRows out = {shape->batch, queries, width, shape->sample * width, width};
    const FillRows lse = {shape->batch * shape->heads, 1, queries, shape->sample, 0};
    status = cuda_fill(args, &out, dtype, args->operand[3], 0, why);
    if (status == KERNEL_DONE)
      status = cuda_fill(args, &lse, DTYPE_F32, args->operand[4], -INFINITY, why);
  } else if (queries > 0) {
    const FillRows d_q = {shape->batch, queries, width, shape->sample * shape->d_q_stride,
                          shape->d_q_stride};
    status = cuda_fill(args, &d_q, dtype, args->operand[6], 0, why);
  }
  const int64_t strides[] = {shape->d_k_stride, shape->d_v_stride};
  for (int i = 0; i < 2 && keys > 0 && shape->is_backward && status == KERNEL_DONE; i++) {
    const FillRows rows = {shape->batch, keys, kv_width, shape->sample * strides[i], strides[i]};
    char *first = (char *)args->operand[7 + i] + shape->keys * strides[i] * 2;
    status = cuda_fill(args, &rows, dtype, first, 0, why);
  }
  return status;
}

static KernelStatus attend(const KernelArgs *args, const char **why) {
  Attending *attending = args->state;
  const Shared *shared = attending->shared;
  AttentionGpu *gpu = &dnn.gpus[shared->gpu];
  int32_t scratch = shared->shape.is_backward ? 9 : 5;
  Bound bound = {.count = 0};
  KernelStatus filled = fill_unseen(&shared->shape, args, why);
  if (filled != KERNEL_DONE) return filled;
  bind_all(&bound, attending, args);
  pthread_mutex_lock(&gpu->lock);
  int status = dnn.api->set_stream(gpu->handle, args->stream);
  if (status == DNN_DONE)
    status = dnn_plan_run(&shared->plan, gpu->handle, bound.count, bound.id, bound.at,
                          args->operand_count > scratch ? args->operand[scratch] : NULL);
  pthread_mutex_unlock(&gpu->lock);
  if (status == DNN_DONE) return KERNEL_DONE;
  *why = dnn.api->status_string(status);
  return KERNEL_FAILED;
}

static KernelStatus run_forward(const KernelArgs *args, const char **why) {
  return args->state != NULL ? attend(args, why) : cuda_attention(args, why);
}

static KernelStatus run_backward(const KernelArgs *args, const char **why) {
  return args->state != NULL ? attend(args, why) : cuda_attention_backward(args, why);
}

const Kernel *kernels_cuda_attending(const Kernel *base, const DnnApi *api, const char *missing,
                                     ProductGpu *gpu) {
  pthread_mutex_lock(&dnn.lock);
  if (dnn.gpu == NULL) {
    dnn.api = api, dnn.missing = missing, dnn.gpu = gpu;
    memcpy(dnn.kernels, base, sizeof dnn.kernels);
    dnn.kernels[KERNEL_attention] =
        (Kernel){KERNEL_attention, prepare, run_forward, NULL, release, NULL};
    dnn.kernels[KERNEL_attention_backward] =
        (Kernel){KERNEL_attention_backward, prepare, run_backward, NULL, release, NULL};
  }
  pthread_mutex_unlock(&dnn.lock);
  return dnn.kernels;
}
