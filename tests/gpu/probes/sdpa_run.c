#include "tests/gpu/probes/sdpa_run.h"

#include <math.h>

Pattern sdpa_qkv_pattern(void) {
  return (Pattern){TYPE_BF16, 11, 2.0f};
}

Pattern sdpa_d_o_pattern(void) {
  return (Pattern){TYPE_BF16, 12, 1.0f};
}

bool sdpa_take_buffers(Device *device, const SdpaShape *shape, int64_t workspace_bytes,
                       SdpaBuffers *buffers) {
  Pattern qkv = sdpa_qkv_pattern(), d_o = sdpa_d_o_pattern();
  size_t qkv_count = (size_t)sdpa_qkv_count(shape), o_count = (size_t)sdpa_o_count(shape);
  size_t stats_bytes = (size_t)sdpa_stats_count(shape) * sizeof(float);
  buffers->d_q_sum_bytes = o_count * sizeof(float);
  TRY(buffers->qkv = device_take_pattern(device, &qkv, (int64_t)qkv_count));
  TRY(buffers->d_o = device_take_pattern(device, &d_o, (int64_t)o_count));
  TRY(buffers->o = device_take(device, o_count * sizeof(uint16_t)));
  TRY(buffers->d_qkv = device_take(device, qkv_count * sizeof(uint16_t)));
  TRY(buffers->stats = device_take(device, stats_bytes));
  TRY(buffers->row_sum = device_take(device, stats_bytes));
  TRY(buffers->d_q_sum = device_take(device, buffers->d_q_sum_bytes));
  TRY(buffers->workspace = device_take(device, (size_t)workspace_bytes + 1));
  return true;
}

/* Binding of one tensor id to an address. */
typedef struct {
  int64_t ids[SDPA_ID_COUNT];
  void *pointers[SDPA_ID_COUNT];
  int64_t count;
} Bindings;

static void bind(Bindings *bindings, int64_t id, void *pointer) {
  bindings->ids[bindings->count] = id;
  bindings->pointers[bindings->count++] = pointer;
}

/* q, k and v (or their gradients) begin one after the other within the first token. */
static void bind_interleaved(Bindings *bindings, const SdpaShape *shape, int64_t first_id,
                             uint16_t *array) {
  uint16_t *k = array + shape->heads * shape->head_size;
  bind(bindings, first_id, array);
  bind(bindings, first_id + 1, k);
  bind(bindings, first_id + 2, k + shape->kv_heads * shape->head_size);
}

typedef struct {
  float scale, one, minus_infinity;
} Scalars;

/* Binds the operands that both passes read. */
static void bind_common(Bindings *bindings, const SdpaRun *call, Scalars *scalars) {
  scalars->scale = (float)(1.0 / sqrt((double)call->shape->head_size));
  scalars->one = 1.0f;
  scalars->minus_infinity = -INFINITY;
  bind(bindings, SDPA_SCALE, &scalars->scale);
  if (call->shape->causal) bind(bindings, SDPA_MINUS_INFINITY, &scalars->minus_infinity);
  bind(bindings, SDPA_STATS, call->buffers->stats);
  bind(bindings, SDPA_O, call->buffers->o);
  bind_interleaved(bindings, call->shape, SDPA_Q, call->buffers->qkv);
}

static bool execute(const SdpaRun *call, const Bindings *bindings) {
  return plan_execute(call->handle, call->plan, bindings->count, bindings->ids, bindings->pointers,
                      call->buffers->workspace);
}

bool sdpa_run_forward(void *context) {
  const SdpaRun *call = context;
  Bindings bindings = {.count = 0};
  Scalars scalars;
  bind_common(&bindings, call, &scalars);
  return execute(call, &bindings);
}

bool sdpa_run_backward(void *context) {
  const SdpaRun *call = context;
  const SdpaBuffers *buffers = call->buffers;
  Bindings bindings = {.count = 0};
  Scalars scalars;
  bind_common(&bindings, call, &scalars);
  bind(&bindings, SDPA_ONE, &scalars.one);
  bind(&bindings, SDPA_D_O, buffers->d_o);
  bind(&bindings, SDPA_ROW_SUM, buffers->row_sum);
  bind(&bindings, SDPA_D_Q_SUM, buffers->d_q_sum);
  bind_interleaved(&bindings, call->shape, SDPA_D_Q, buffers->d_qkv);
  TRY_CUDA(cudaMemsetAsync(buffers->d_q_sum, 0, buffers->d_q_sum_bytes, call->stream));
  return execute(call, &bindings);
}
